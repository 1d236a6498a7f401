// GPU kernels of fake quantisation and its gradients.
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/quantize/fake_quant.h"

namespace argosy {

namespace {

constexpr const char* kModule = "quantize";

// As in quantize_cuda.cu.
struct Levels {
  std::int64_t n, channels;
  const void *low, *high;
  float fixed_low, fixed_high, lowest, highest;
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
    const int at = o.x();
    const Tensor& x = c.input(at);
    ARGOSY_ASSIGN_OR_RETURN(const Shape limits, o.check_inputs(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const std::int64_t n = x.elements(), channels = limits.elements();
    const Levels levels{n,
                        channels,
                        o.fixed ? nullptr : c.input(at + 1).raw(),
                        o.fixed ? nullptr : c.input(at + 2).raw(),
                        o.min,
                        o.max,
                        o.lowest,
                        o.highest()};
    if (!o.gradient) return cuda::launch(c, {kModule, "fake_quant"}, cuda::grid_for(n), levels, x.raw(), y->raw());
    const void* const dy = c.input(0).raw();
    ARGOSY_RETURN_IF_ERROR(
        cuda::launch(c, {kModule, "fake_quant_back"}, cuda::grid_for(n), levels, dy, x.raw(), y->raw()));
    if (c.num_outputs() < 3) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const d_low, c.output(1, limits));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const d_high, c.output(2, limits));
    return cuda::launch(c, {kModule, "fake_quant_limits_back"}, cuda::grid_for(channels * cuda::kBlock), levels, dy,
                        x.raw(), d_low->raw(), d_high->raw());
  }

 private:
  const FakeQuantOptions options_;
};

}  // namespace

void add_kernels_cuda_quantize(KernelRegistry& kernels) {
  for (const std::string op :
       {"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    kernels.add(op, "cuda", FakeQuant::make);
    kernels.add(op + "Gradient", "cuda", FakeQuant::make);
  }
}

}  // namespace argosy
