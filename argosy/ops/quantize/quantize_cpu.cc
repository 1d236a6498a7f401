#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/op/kernel/kernel.h"

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
  explicit FakeQuant(const KernelInit& init)
      : op_(init.op.name),
        gradient_(op_.ends_with("Gradient")),
        channels_(op_.find("Channel") != std::string::npos),
        min_(init.attrs.get_or("min", 0.0f)),
        max_(init.attrs.get_or("max", 0.0f)),
        bits_(init.attrs.get_int("num_bits")),
        lowest_(init.attrs.get_bool("narrow_range") ? 1.0f : 0.0f) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<FakeQuant>(init);
    if (kernel->bits_ < 2 || kernel->bits_ > 16) {
      return invalid_argument(init.op.name, ": num_bits must be between 2 and 16, inclusive, not ", kernel->bits_);
    }
    if (init.op.name.find("Args") != std::string::npos && !(kernel->min_ < kernel->max_)) {
      return invalid_argument(init.op.name, ": min has to be smaller than max, was: ", kernel->min_,
                              " >= ", kernel->max_);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const int x = gradient_ ? 1 : 0;
    const Shape& shape = c.input(x).shape();
    if (gradient_ && !(c.input(0).shape() == shape)) {
      return invalid_argument(op_, ": gradients and inputs must be the same size, not ", c.input(0).shape(), " and ",
                              shape);
    }
    const bool fixed = op_.find("Args") != std::string::npos;
    std::int64_t count = 1;
    if (channels_) {
      if (shape.rank() == 0) return invalid_argument(op_, ": inputs must have channels, their last axis");
      count = shape.back();
    }
    const Shape wanted = channels_ ? Shape{count} : Shape{};
    for (int i = x + 1; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() == wanted) continue;
      return invalid_argument(op_, ": min and max must have shape ", wanted, ", not ", c.input(i).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    std::vector<float*> sums;
    for (int i = 1; i < c.num_outputs(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(i, wanted));
      std::fill_n(sum->data<float>(), count, 0.0f);
      sums.push_back(sum->data<float>());
    }
    const float* const from = c.input(x).data<float>();
    float* const to = y->data<float>();
    const float highest = static_cast<float>((std::int64_t{1} << bits_) - 1);
    for (std::int64_t channel = 0; channel < count; ++channel) {
      const float min = fixed ? min_ : c.input(x + 1).data<float>()[channel];
      const float max = fixed ? max_ : c.input(x + 2).data<float>()[channel];
      const bool unset = min == 0 && max == 0;  // limits that nobody has found yet
      const Nudged nudged(min, max, lowest_, highest);
      double below = 0, above = 0;
      for (std::int64_t i = channel; i < y->elements(); i += count) {
        if (!gradient_) {
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
  const std::string op_;
  const bool gradient_, channels_;
  const float min_, max_;
  const std::int64_t bits_;
  const float lowest_;
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
