// Softmax and the cross-entropies on a GPU, by kernels of our own.
#include "argosy/ops/softmax/gpu_softmax.h"
#include "argosy/ops/softmax/softmax_inputs.h"

namespace argosy {

namespace {

using gpu_softmax::Kind;
using softmax_inputs::Rows;

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
  ARGOSY_ASSIGN_OR_RETURN(const auto in, softmax_inputs::check_cross_entropy(c));
  const std::int64_t rows = in.shape[0], n = in.shape[1];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const backprop, c.output(1, in.shape, {0}));
  const Steps steps{in.logits.row, in.logits.column, in.labels.row, in.labels.column};
  return cuda::launch(c, {kModule, str_cat("cross_entropy_", cuda::type_suffix(x.dtype()))}, blocks_of(rows, n), rows,
                      n, x.raw(), labels.raw(), steps, loss->raw(), backprop->raw());
}

Status sparse_cross_entropy(KernelContext& c) {
  const Tensor &x = c.input(0), &labels = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, softmax_inputs::check_sparse_cross_entropy(c));
  const auto [rows, n] = sizes;
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
    ARGOSY_ASSIGN_OR_RETURN(const Rows r, softmax_inputs::check_rows(c));
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

template <Kind kKind>
Status own(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Rows r, softmax_inputs::check_rows(c));
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
