// Training with few bits, on a GPU: numbers held to their levels, and what flows back.
#include "argosy/ops/gpu_kernels.h"

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
  explicit FakeQuant(const KernelInit& init)
      : op_(init.op.name),
        gradient_(op_.ends_with("Gradient")),
        channels_(op_.find("Channel") != op_.npos),
        fixed_(op_.find("Args") != op_.npos),
        min_(init.attrs.get_or("min", 0.0f)),
        max_(init.attrs.get_or("max", 0.0f)),
        bits_(init.attrs.get_int("num_bits")),
        lowest_(init.attrs.get_bool("narrow_range") ? 1.0f : 0.0f) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<FakeQuant>(init);
    if (kernel->bits_ < 2 || kernel->bits_ > 16) {
      return invalid_argument(init.op.name, ": num_bits must be between 2 and 16, inclusive, not ", kernel->bits_);
    }
    if (kernel->fixed_ && !(kernel->min_ < kernel->max_)) {
      return invalid_argument(init.op.name, ": min has to be smaller than max, was: ", kernel->min_,
                              " >= ", kernel->max_);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const int at = gradient_ ? 1 : 0;
    const Tensor& x = c.input(at);
    const Shape& shape = x.shape();
    if (gradient_ && !(c.input(0).shape() == shape)) {
      return invalid_argument(op_, ": gradients and inputs must be the same size, not ", c.input(0).shape(), " and ",
                              shape);
    }
    if (channels_ && shape.rank() == 0) {
      return invalid_argument(op_, ": inputs must have channels, their last axis");
    }
    const Shape wanted = channels_ ? Shape{shape.back()} : Shape{};
    for (int i = at + 1; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() == wanted) continue;
      return invalid_argument(op_, ": min and max must have shape ", wanted, ", not ", c.input(i).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const std::int64_t n = x.elements(), channels = channels_ ? shape.back() : 1;
    const Levels levels{n,
                        channels,
                        fixed_ ? nullptr : c.input(at + 1).raw(),
                        fixed_ ? nullptr : c.input(at + 2).raw(),
                        min_,
                        max_,
                        lowest_,
                        static_cast<float>((std::int64_t{1} << bits_) - 1)};
    if (!gradient_) return cuda::launch(c, {kModule, "fake_quant"}, cuda::grid_for(n), levels, x.raw(), y->raw());
    const void* const dy = c.input(0).raw();
    ARGOSY_RETURN_IF_ERROR(
        cuda::launch(c, {kModule, "fake_quant_back"}, cuda::grid_for(n), levels, dy, x.raw(), y->raw()));
    if (c.num_outputs() < 3) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const d_low, c.output(1, wanted));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const d_high, c.output(2, wanted));
    return cuda::launch(c, {kModule, "fake_quant_limits_back"}, cuda::grid_for(channels * cuda::kBlock), levels, dy,
                        x.raw(), d_low->raw(), d_high->raw());
  }

 private:
  const std::string op_;
  const bool gradient_, channels_, fixed_;
  const float min_, max_;
  const std::int64_t bits_;
  const float lowest_;
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
