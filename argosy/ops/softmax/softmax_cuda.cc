// Softmax and the cross-entropies on a GPU, by kernels of our own.
#include "argosy/ops/softmax/gpu_softmax.h"

namespace argosy {

namespace {

using gpu_softmax::Kind;
using gpu_softmax::Rows;

constexpr const char* kModule = "softmax";

// A block a row.
cuda::LaunchShape blocks_of(std::int64_t rows, std::int64_t n) {
  cuda::LaunchShape shape{
      .block = {n >= 256 ? 256u : static_cast<unsigned>(std::max<std::int64_t>((n + 31) / 32, 1) * 32)}};
  shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(rows, cuda::kMostBlocks));
  return shape;
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
  return cuda::launch(c, {kModule, str_cat("cross_entropy_", cuda::type_suffix(x.dtype()))}, blocks_of(rows, n), rows,
                      n, x.raw(), labels.raw(), steps, loss->raw(), backprop->raw());
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
  const std::string kernel =
      str_cat("sparse_cross_entropy_", cuda::type_suffix(x.dtype()), "_", cuda::type_suffix(labels.dtype()));
  return cuda::launch(c, {kModule, kernel}, blocks_of(rows, n), rows, n, x.raw(), labels.raw(), loss->raw(),
                      backprop->raw());
}

class SoftmaxGradient final : public Kernel {
 public:
  explicit SoftmaxGradient(bool logarithm) : logarithm_(logarithm) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Rows r, gpu_softmax::rows_of(c));
    const Tensor &y = c.input(0), &dy = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, y.shape(), {1}));
    if (y.elements() == 0) return ok_status();
    return cuda::launch(c, {kModule, str_cat("softmax_gradient_", cuda::type_suffix(y.dtype()))},
                        blocks_of(r.rows, r.n), r.rows, r.n, y.raw(), dy.raw(), dx->raw(), logarithm_ ? 1 : 0);
  }

 private:
  const bool logarithm_;
};

}  // namespace

namespace gpu_softmax {

Result<Rows> rows_of(KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  if (shape.rank() == 0) return invalid_argument("Softmax: logits must have an axis").with_id("ARG-SHAPE-004");
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).shape() == shape) continue;
    return invalid_argument("Softmax: its gradient has shape ", c.input(i).shape(), ", what it gave ", shape)
        .with_id("ARG-SHAPE-013");
  }
  const std::int64_t n = shape.back();
  return Rows{n == 0 ? 0 : shape.elements() / n, n};
}

template <Kind kKind>
Status own(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Rows r, rows_of(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (x.elements() == 0) return ok_status();
  return cuda::launch(c, {kModule, str_cat("softmax_", cuda::type_suffix(x.dtype()))}, blocks_of(r.rows, r.n), r.rows,
                      r.n, x.raw(), y->raw(), kKind == Kind::kLogSoftmax ? 1 : 0);
}
template Status own<Kind::kSoftmax>(KernelContext&);
template Status own<Kind::kLogSoftmax>(KernelContext&);

Result<std::unique_ptr<Kernel>> make_own_gradient(const KernelInit& init) {
  return std::unique_ptr<Kernel>(std::make_unique<SoftmaxGradient>(init.attrs.get_bool("logarithm")));
}

}  // namespace gpu_softmax

void add_kernels_cuda_softmax(KernelRegistry& kernels) {
  const std::vector<KernelTypes> floats = {{"T", cuda::kFloatingTypes}};
  kernels.add("Softmax", "cuda", gpu_softmax::make_by_dnn<Kind::kSoftmax>, floats);
  kernels.add("Softmax", "cuda", cuda::make_launching<gpu_softmax::own<Kind::kSoftmax>>, floats);
  kernels.add("LogSoftmax", "cuda", gpu_softmax::make_by_dnn<Kind::kLogSoftmax>, floats);
  kernels.add("LogSoftmax", "cuda", cuda::make_launching<gpu_softmax::own<Kind::kLogSoftmax>>, floats);
  kernels.add("_SoftmaxGrad", "cuda", gpu_softmax::make_gradient_by_dnn, floats);
  kernels.add("_SoftmaxGrad", "cuda", gpu_softmax::make_own_gradient, floats);
  kernels.add("SoftmaxCrossEntropyWithLogits", "cuda", cuda::make_launching<cross_entropy>, floats);
  kernels.add("SparseSoftmaxCrossEntropyWithLogits", "cuda", cuda::make_launching<sparse_cross_entropy, 1>, floats);
}

}  // namespace argosy
