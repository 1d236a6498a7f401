// Casts on a GPU. The step copies int32 inputs to the GPU; int32 outputs are in host memory.
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_complex(KernelRegistry& kernels);

namespace {

class Cast final : public Kernel, public cuda::TakesOnGpu<0> {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType from = init.input_dtypes[0], to = init.output_dtypes[0];
    // Truncate is rare enough to run on the host.
    if (from != to && init.attrs.get_bool("Truncate")) return cuda::make_host_fallback(init);
    if (from == DType::kInt32 && to == from) return cuda::make_on_host(init);
    return std::unique_ptr<Kernel>(
        std::make_unique<Cast>(str_cat("cast_", cuda::number_suffix(from)), to, cuda::reads_constants_only(init, {0})));
  }
  Cast(std::string kernel, DType to, bool capturable) : kernel_(std::move(kernel)), to_(to), capturable_(capturable) {}
  bool capturable() const override { return capturable_ && to_ != DType::kInt32; }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.dtype() == to_) return forward_input(c, 0, x);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const std::int64_t n = x.elements();
    if (n == 0) return ok_status();
    const auto start = [&](void* to) {
      const std::size_t widest = std::max(element_bytes(x.dtype()), element_bytes(to_));
      return cuda::launch(c, {"cast", kernel_}, cuda::grid_for_vecs(n, widest), n, x.raw(), to, static_cast<int>(to_));
    };
    if (to_ != DType::kInt32) return start(y->raw());
    ARGOSY_ASSIGN_OR_RETURN(cuda::ToHost there, cuda::ToHost::of(c, *y));
    ARGOSY_RETURN_IF_ERROR(start(there.data()));
    return there.finish(c);
  }

 private:
  const std::string kernel_;
  const DType to_;
  const bool capturable_;
};

// The result is the same memory, unless one side is in host memory and the other on the GPU.
Result<std::unique_ptr<Kernel>> make_bitcast(const KernelInit& init) {
  const bool one_memory = cuda::input_on_host(init, 0) == cuda::output_on_host(init, 0);
  return one_memory ? cuda::make_on_host(init) : cuda::make_host_fallback(init);
}

}  // namespace

void add_kernels_cuda_cast(KernelRegistry& kernels) {
  using enum DType;
  const std::vector<DType> numbers = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16,     kInt32,     kInt64,
                                      kUint8,   kUint16,  kUint32,  kUint64,   kBool, kComplex64, kComplex128};
  kernels.add("Cast", "cuda", Cast::make, {{"SrcT", numbers}, {"DstT", numbers}});
  kernels.add("Bitcast", "cuda", make_bitcast);
  add_kernels_cuda_complex(kernels);
}

}  // namespace argosy
