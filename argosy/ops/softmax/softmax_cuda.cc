// Softmax and the cross-entropies on a card.
#include "argosy/ops/launching.h"

namespace argosy {

namespace {

constexpr const char* kModule = "softmax";

// A block a row.
cuda::LaunchShape rows_of(std::int64_t rows, std::int64_t n) {
  cuda::LaunchShape shape{
      .block = {n >= 256 ? 256u : static_cast<unsigned>(std::max<std::int64_t>((n + 31) / 32, 1) * 32)}};
  shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(rows, cuda::kMostBlocks));
  return shape;
}

template <int kLogarithm>
Status softmax(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() == 0) return invalid_argument("Softmax: logits must have an axis").with_id("ARG-SHAPE-004");
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (x.elements() == 0) return ok_status();
  const std::int64_t n = x.shape().back(), rows = x.elements() / n;
  return cuda::launch(c, {kModule, str_cat("softmax_", cuda::type_suffix(x.dtype()))}, rows_of(rows, n), rows, n,
                      x.raw(), y->raw(), kLogarithm);
}

struct Steps {
  std::int64_t x_row, x_column, label_row, label_column;
};

Status cross_entropy(KernelContext& c) {
  const Tensor &x = c.input(0), &labels = c.input(1);
  if (x.shape().rank() != 2 || labels.shape().rank() != 2) {
    return invalid_argument("SoftmaxCrossEntropyWithLogits: logits and labels must be matrices, not of shapes ",
                            x.shape(), " and ", labels.shape())
        .with_id("ARG-SHAPE-004");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(x.shape(), labels.shape()));
  const std::int64_t rows = shape[0], n = shape[1];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const backprop, c.output(1, shape, {0}));
  const auto step = [](const Shape& s, int axis) { return s[axis] == 1 ? 0 : axis == 0 ? s[1] : 1; };
  const Steps steps{step(x.shape(), 0), step(x.shape(), 1), step(labels.shape(), 0), step(labels.shape(), 1)};
  return cuda::launch(c, {kModule, str_cat("cross_entropy_", cuda::type_suffix(x.dtype()))}, rows_of(rows, n), rows, n,
                      x.raw(), labels.raw(), steps, loss->raw(), backprop->raw());
}

Status sparse_cross_entropy(KernelContext& c) {
  const Tensor &x = c.input(0), &labels = c.input(1);
  if (x.shape().rank() != 2 || labels.shape().rank() != 1 || labels.elements() != x.shape()[0]) {
    return invalid_argument(
               "SparseSoftmaxCrossEntropyWithLogits: logits must be a matrix and labels a vector with one ",
               "number a row, not of shapes ", x.shape(), " and ", labels.shape())
        .with_id("ARG-SHAPE-015");
  }
  const std::int64_t rows = x.shape()[0], n = x.shape()[1];
  if (n == 0) return invalid_argument("SparseSoftmaxCrossEntropyWithLogits: there must be at least one class");
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const backprop, c.output(1, x.shape()));
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnCard classes, cuda::OnCard::of(c, 1));
  const std::string kernel =
      str_cat("sparse_cross_entropy_", cuda::type_suffix(x.dtype()), "_", cuda::type_suffix(labels.dtype()));
  return cuda::launch(c, {kModule, kernel}, rows_of(rows, n), rows, n, x.raw(), classes.data(), loss->raw(),
                      backprop->raw());
}

}  // namespace

void add_kernels_cuda_softmax(KernelRegistry& kernels) {
  const std::vector<KernelTypes> floats = {{"T", cuda::kFloatingTypes}};
  kernels.add("Softmax", "cuda", cuda::make_launching<softmax<0>>, floats);
  kernels.add("LogSoftmax", "cuda", cuda::make_launching<softmax<1>>, floats);
  kernels.add("SoftmaxCrossEntropyWithLogits", "cuda", cuda::make_launching<cross_entropy>, floats);
  kernels.add("SparseSoftmaxCrossEntropyWithLogits", "cuda", cuda::make_launching<sparse_cross_entropy>, floats);
}

}  // namespace argosy
