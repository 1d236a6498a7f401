#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/ops/quantize/fake_quant.h"

namespace argosy {

void add_quantize_levels(KernelRegistry& kernels);  // levels_cpu.cc

namespace {

// Limits moved so that zero is one of the levels: Jacob et al., "Quantization and training of neural networks for
// efficient integer-arithmetic-only inference" (2018), section 3.
struct Nudged {
  float low = 0, high = 0, scale = 0;
  Nudged(float min, float max, float lowest, float highest) {
    scale = (max - min) / (highest - lowest);
    const float zero = lowest - min / scale;
    const float level = zero < lowest ? lowest : zero > highest ? highest : std::round(zero);
    low = (lowest - level) * scale;
    high = (highest - level) * scale;
  }
  float operator()(float x) const {
    const float clamped = std::min(std::max(x, low), high);
    return std::floor((clamped - low) * (1.0f / scale) + 0.5f) * scale + low;
  }
};

class FakeQuant final : public Kernel {
 public:
  explicit FakeQuant(const KernelInit& init) : options_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<FakeQuant>(init);
    ARGOSY_RETURN_IF_ERROR(kernel->options_.check());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const FakeQuantOptions& o = options_;
    const int x = o.x();
    ARGOSY_ASSIGN_OR_RETURN(const Shape limits, o.check_inputs(c));
    const std::int64_t count = limits.elements();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, c.input(x).shape()));
    std::vector<float*> sums;
    for (int i = 1; i < c.num_outputs(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(i, limits));
      std::fill_n(sum->data<float>(), count, 0.0f);
      sums.push_back(sum->data<float>());
    }
    const float* const from = c.input(x).data<float>();
    float* const to = y->data<float>();
    for (std::int64_t channel = 0; channel < count; ++channel) {
      const float min = o.fixed ? o.min : c.input(x + 1).data<float>()[channel];
      const float max = o.fixed ? o.max : c.input(x + 2).data<float>()[channel];
      const bool unset = min == 0 && max == 0;  // limits that nobody has found yet
      const Nudged nudged(min, max, o.lowest, o.highest());
      double below = 0, above = 0;
      for (std::int64_t i = channel; i < y->elements(); i += count) {
        if (!o.gradient) {
          to[i] = unset ? 0.0f : nudged(from[i]);
          continue;
        }
        const float d = c.input(0).data<float>()[i];
        // Products with 0 and 1, as TensorFlow's: what is not finite stays so. NaN lies nowhere.
        const bool inside = unset || (from[i] >= nudged.low && from[i] <= nudged.high);
        const bool under = !unset && from[i] < nudged.low, over = !unset && from[i] > nudged.high;
        const float nothing = d * 0.0f;
        to[i] = inside ? d : nothing;
        below += under ? d : nothing;
        above += over ? d : nothing;
      }
      if (sums.size() < 2) continue;
      sums[0][channel] = static_cast<float>(below);
      sums[1][channel] = static_cast<float>(above);
    }
    return ok_status();
  }

 private:
  const FakeQuantOptions options_;
};

}  // namespace

void add_kernels_cpu_quantize(KernelRegistry& kernels) {
  for (const char* op : {"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    kernels.add(op, "cpu", FakeQuant::make);
    kernels.add(std::string(op) + "Gradient", "cpu", FakeQuant::make);
  }
  add_quantize_levels(kernels);
}

}  // namespace argosy
