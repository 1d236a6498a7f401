#include <algorithm>

#include "argosy/ops/gpu_kernels.h"

namespace argosy {

namespace {

constexpr const char* kModule = "sums_and_checks";

struct EightPointers {
  const void* at[8];
};

Status add_n(KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!(c.input(i).shape() == shape)) {
      return invalid_argument("AddN: input ", i, " has shape ", c.input(i).shape(), ", input 0 ", shape)
          .with_id("ARG-SHAPE-006");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape, {0}));
  const std::int64_t n = y->elements();
  const std::string kernel = str_cat("add_n_", cuda::number_suffix(y->dtype()));
  for (int first = 0; first < c.num_inputs(); first += 8) {
    EightPointers from{};
    const int count = std::min(8, c.num_inputs() - first);
    for (int k = 0; k < count; ++k) from.at[k] = c.input(first + k).raw();
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, kernel}, cuda::grid_for_vecs(n, element_bytes(y->dtype())), n,
                                        count, from, y->raw(), first > 0 ? 1 : 0));
  }
  return ok_status();
}

template <bool kGradient>
class Leaky final : public Kernel {
 public:
  explicit Leaky(const KernelInit& init)
      : alpha_(init.attrs.get_float("alpha")),
        kernel_(str_cat(kGradient ? "leaky_relu_grad_" : "leaky_relu_", cuda::type_suffix(init.input_dtypes[0]))) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Leaky>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const std::int64_t n = x.elements();
    if constexpr (kGradient) {
      if (!(c.input(1).shape() == x.shape())) {
        return invalid_argument("LeakyReluGrad: inputs must have one shape, not ", x.shape(), " and ",
                                c.input(1).shape())
            .with_id("ARG-SHAPE-006");
      }
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0, 1}));
      return cuda::launch(c, {kModule, kernel_}, cuda::grid_for(n), n, x.raw(), c.input(1).raw(), y->raw(), alpha_);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
      return cuda::launch(c, {kModule, kernel_}, cuda::grid_for(n), n, x.raw(), y->raw(), alpha_);
    }
  }

 private:
  const float alpha_;
  const std::string kernel_;
};

// The host waits for the result. If it is bad, the CPU's kernel finds what and where, for the error.
class CheckNumerics final : public Kernel {
 public:
  explicit CheckNumerics(std::unique_ptr<Kernel> by_host) : by_host_(std::move(by_host)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto by_host, cuda::make_host_fallback(init));
    return std::unique_ptr<Kernel>(std::make_unique<CheckNumerics>(std::move(by_host)));
  }
  bool capturable() const override { return false; }
  Status run(KernelContext& c) override {
    constexpr std::int64_t kBlocks = 256;
    const Tensor& x = c.input(0);
    const std::int64_t n = x.elements();
    const cuda::LaunchShape shape = cuda::grid_for(std::min<std::int64_t>(n, kBlocks * cuda::kBlock));
    std::vector<std::int32_t> found(shape.grid.x);
    if (n > 0) {
      const std::size_t bytes = found.size() * sizeof(std::int32_t);
      ARGOSY_ASSIGN_OR_RETURN(const Buffer there, c.scratch(bytes));
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, str_cat("find_infinite_", cuda::type_suffix(x.dtype()))}, shape,
                                          n, x.raw(), there.data()));
      ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).download(found.data(), there.data(), bytes));
    }
    if (std::count(found.begin(), found.end(), 0) != static_cast<std::ptrdiff_t>(found.size())) return by_host_->run(c);
    c.set_output(0, x);
    return ok_status();
  }

 private:
  const std::unique_ptr<Kernel> by_host_;
};

}  // namespace

void add_kernels_cuda_sums_and_checks(KernelRegistry& kernels) {
  kernels.add("AddN", "cuda", cuda::make_launching<add_n>, {{"T", cuda::kFloatingTypes}});
  kernels.add("AddN", "cuda", cuda::make_launching<add_n>, {{"T", {DType::kComplex64, DType::kComplex128}}});
  kernels.add("AddN", "cuda", cuda::make_launching<add_n>, {{"T", {DType::kInt64, DType::kUint32}}});
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    kernels.add(op, "cuda", CheckNumerics::make, {{"T", cuda::kFloatingTypes}});
  }
  kernels.add("AddN", "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  kernels.add("LeakyRelu", "cuda", Leaky<false>::make, {{"T", cuda::kFloatingTypes}});
  kernels.add("LeakyReluGrad", "cuda", Leaky<true>::make, {{"T", cuda::kFloatingTypes}});
}

}  // namespace argosy
