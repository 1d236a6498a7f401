// Complex numbers and their parts, on a GPU.
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_complex(KernelRegistry& kernels);

namespace {

constexpr const char* kModule = "complex";

Status complex_of_parts(KernelContext& c) {
  const Tensor &re = c.input(0), &im = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(re.shape(), im.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, shape));
  const std::int64_t n = z->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const auto strided, cuda::strided_index_of(shape, re.shape(), im.shape()));
  return cuda::launch(c, {kModule, str_cat("complex_", cuda::number_suffix(z->dtype()))}, cuda::grid_for(n), n,
                      re.raw(), im.raw(), z->raw(), strided);
}

class PartOfComplex final : public Kernel {
 public:
  explicit PartOfComplex(const KernelInit& init)
      : kernel_(str_cat("complex_", init.op.name, "_", cuda::number_suffix(init.input_dtypes[0]))) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PartOfComplex>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    // Parts are smaller than x: only its conjugate may go where it is.
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    const std::int64_t n = x.elements();
    return cuda::launch(c, {kModule, kernel_}, cuda::grid_for(n), n, x.raw(), y->raw());
  }

 private:
  const std::string kernel_;
};

}  // namespace

void add_kernels_cuda_complex(KernelRegistry& kernels) {
  const std::vector<DType> complex = {DType::kComplex64, DType::kComplex128};
  kernels.add("Complex", "cuda", cuda::make_launching<complex_of_parts>, {{"Tout", complex}});
  for (const char* op : {"Real", "Imag", "ComplexAbs", "Angle", "Conj"}) {
    kernels.add(op, "cuda", PartOfComplex::make, {{"T", complex}});
  }
}

}  // namespace argosy
