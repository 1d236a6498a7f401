// GPU kernels of Select and ClipByValue.
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

namespace {

Status choose(KernelContext& c, const Shape& shape, const Shape& condition) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, shape, {1, 2}));
  const std::int64_t n = z->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const auto strided,
                          cuda::strided_index_of(shape, condition, c.input(1).shape(), c.input(2).shape()));
  return cuda::launch(c, {"move", str_cat("select_", cuda::size_suffix(z->dtype()))}, cuda::grid_for(n), n,
                      c.input(0).raw(), c.input(1).raw(), c.input(2).raw(), z->raw(), strided);
}

Status select(KernelContext& c) {
  const Shape &condition = c.input(0).shape(), &shape = c.input(1).shape();
  if (!(c.input(2).shape() == shape)) {
    return invalid_argument(
        "Inputs to operation Select must have the same size and shape: Select: t and e must have one shape, not ",
        shape, " and ", c.input(2).shape());
  }
  if (condition == shape || condition.rank() == 0) return choose(c, shape, condition);
  if (condition.rank() != 1 || shape.rank() == 0 || condition[0] != shape[0]) {
    return invalid_argument("Select: condition of shape ", condition, " does not choose among ", shape);
  }
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.rank()), 1);
  rows[0] = condition[0];
  return choose(c, shape, Shape(rows));
}

Status select_v2(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape values, broadcast(c.input(1).shape(), c.input(2).shape()));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(c.input(0).shape(), values));
  return choose(c, shape, c.input(0).shape());
}

Status clip_by_value(KernelContext& c) {
  const Tensor& x = c.input(0);
  for (const int i : {1, 2}) {
    if (c.input(i).shape().rank() == 0 || c.input(i).shape() == x.shape()) continue;
    return invalid_argument("ClipByValue: a limit of shape ", c.input(i).shape(),
                            " must be a scalar or have the shape ", x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const std::int64_t n = y->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const auto strided,
                          cuda::strided_index_of(x.shape(), x.shape(), c.input(1).shape(), c.input(2).shape()));
  return cuda::launch(c, {"clip", str_cat("clip_", cuda::type_suffix(x.dtype()))}, cuda::grid_for(n), n, x.raw(),
                      c.input(1).raw(), c.input(2).raw(), y->raw(), strided);
}

}  // namespace

void add_kernels_cuda_select(KernelRegistry& kernels) {
  using enum DType;
  const std::vector<DType> held = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16,     kInt64,
                                   kUint8,   kUint16,  kUint32,  kUint64,   kBool, kComplex64, kComplex128};
  kernels.add("Select", "cuda", cuda::make_launching<select>, {{"T", held}});
  kernels.add("SelectV2", "cuda", cuda::make_launching<select_v2>, {{"T", held}});
  kernels.add("ClipByValue", "cuda", cuda::make_launching<clip_by_value>,
              {{"T", {kFloat32, kFloat64, kFloat16, kBfloat16, kInt64, kInt8, kInt16, kUint8, kUint16}}});
  kernels.add("ClipByValue", "cuda", cuda::make_on_host, {{"T", {kInt32}}});
  // The condition lives on the GPU, the values on the host.
  kernels.add("Select", "cuda", cuda::make_host_fallback, {{"T", {kInt32}}});
  kernels.add("SelectV2", "cuda", cuda::make_host_fallback, {{"T", {kInt32}}});
}

}  // namespace argosy
