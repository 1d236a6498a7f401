// Ops on arrays of elements, on a GPU.
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

namespace {

// Always zeros: uninitialized memory could show the data of others.
Status empty(KernelContext& c) {
  if (c.input(0).shape().rank() != 1) {
    return invalid_argument("Empty: shape must be a vector of int32, not of shape ", c.input(0).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "Empty: shape"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->bytes() == 0) return ok_status();
  return cuda::device_of(*c.device()).fill(y->raw(), 1, 0, y->bytes());
}

Status cross(KernelContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  if (!(a.shape() == b.shape()) || a.shape().rank() == 0) {
    return invalid_argument("Cross: both inputs must be of same shape, with rank 1 or more: ", a.shape(), " and ",
                            b.shape());
  }
  if (a.shape().back() != 3) {
    return failed_precondition("Cross-products are only defined for 3-element vectors, not for shape ", a.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, a.shape()));
  const std::int64_t n = a.elements() / 3;
  return cuda::launch(c, {"array", str_cat("cross_", cuda::type_suffix(a.dtype()))}, cuda::grid_for(n), n, a.raw(),
                      b.raw(), y->raw());
}

}  // namespace

void add_kernels_cuda_array(KernelRegistry& kernels) {
  using enum DType;
  for (const char* op : {"EnsureShape", "GuaranteeConst"}) kernels.add(op, "cuda", cuda::make_on_host);
  kernels.add("Empty", "cuda", cuda::make_launching<empty>, {{"dtype", cuda::kGpuTypes}});
  kernels.add("Empty", "cuda", cuda::make_on_host, {{"dtype", {kInt32}}});
  kernels.add("Cross", "cuda", cuda::make_launching<cross>, {{"T", {kFloat32, kFloat64, kFloat16, kBfloat16, kInt64}}});
  for (const char* op : {"DataFormatDimMap", "DataFormatVecPermute"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {kInt32}}});
  }
}

}  // namespace argosy
