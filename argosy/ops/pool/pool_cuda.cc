// Pooling on a card.
#include "argosy/ops/conv/windows_cuda.h"
#include "argosy/ops/layout/card_mover.h"
#include "argosy/ops/pool/geometry.h"

namespace argosy {

namespace {

using cuda::CardAxis;
using cuda::CardPool;

CardAxis axis_of(const WindowAxis& a) { return {a.in, a.window, a.stride, a.dilation, a.out, a.pad_before}; }

enum class PoolKind { kMax, kMaxGrad, kAvg, kAvgGrad };

template <PoolKind kKind>
class Pool final : public Kernel {
 public:
  static constexpr bool kToImage = kKind == PoolKind::kMaxGrad || kKind == PoolKind::kAvgGrad;

  Pool(PoolAttrs attrs, std::string_view suffix, bool repeatable)
      : attrs_(std::move(attrs)), suffix_(suffix), repeatable_(repeatable) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Pool>(std::move(attrs), cuda::type_suffix(init.output_dtypes[0]),
                                                          cuda::reads_constants_only(init)));
  }
  bool repeatable() const override { return repeatable_; }

  Status run(KernelContext& c) override {
    constexpr int kOperands = kKind == PoolKind::kMax ? 1 : 3;  // before ksize and strides
    PoolAttrs attrs = attrs_;
    if (c.num_inputs() == kOperands + 2) {  // the V2 ops
      ARGOSY_ASSIGN_OR_RETURN(const auto ksize, to_int64s(c.input(kOperands), str_cat(attrs.op, ": ksize")));
      ARGOSY_ASSIGN_OR_RETURN(const auto strides, to_int64s(c.input(kOperands + 1), str_cat(attrs.op, ": strides")));
      ARGOSY_RETURN_IF_ERROR(set_pool_window(attrs, ksize, strides));
    }
    Shape image = c.input(0).shape();
    if constexpr (kKind == PoolKind::kAvgGrad) {
      ARGOSY_ASSIGN_OR_RETURN(image, to_shape(c.input(0), str_cat(attrs.op, ": orig_input_shape")));
    }
    ARGOSY_ASSIGN_OR_RETURN(const PoolGeometry g, pool_geometry(attrs, image));
    const Shape pooled = pool_output_shape(attrs, image, g);
    for (int i = 1; kToImage && i < std::min(c.num_inputs(), 3); ++i) {
      if (c.input(i).shape() == pooled) continue;
      return invalid_argument(attrs.op, ": input ", i, " must have shape ", pooled, ", not ", c.input(i).shape())
          .with_id("ARG-SHAPE-013");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, kToImage ? image : pooled));
    const CardPool pool{g.images, g.channels, axis_of(g.h), axis_of(g.w)};
    const cuda::LaunchShape shape = cuda::grid_for(out->elements());
    const auto named = [&](const char* name) { return str_cat(name, suffix_); };
    if constexpr (kKind == PoolKind::kMax) {
      return cuda::launch(c, {kModule, named("max_pool_")}, shape, pool, c.input(0).raw(), out->raw());
    } else if constexpr (kKind == PoolKind::kMaxGrad) {
      return cuda::launch(c, {kModule, named("max_pool_grad_")}, shape, pool, c.input(0).raw(), c.input(2).raw(),
                          out->raw());
    } else if constexpr (kKind == PoolKind::kAvg) {
      return cuda::launch(c, {kModule, named("avg_pool_")}, shape, pool, c.input(0).raw(), out->raw());
    } else {
      return cuda::launch(c, {kModule, named("avg_pool_grad_")}, shape, pool, c.input(1).raw(), out->raw());
    }
  }

 private:
  static constexpr const char* kModule = "pool";
  const PoolAttrs attrs_;
  const std::string_view suffix_;
  const bool repeatable_;
};

}  // namespace

void add_kernels_cuda_pool(KernelRegistry& kernels) {
  const std::vector<KernelTypes> floats = {{"T", cuda::kFloatingTypes}};
  for (const char* op : {"MaxPool", "MaxPoolV2"}) kernels.add(op, "cuda", Pool<PoolKind::kMax>::make, floats);
  for (const char* op : {"MaxPoolGrad", "MaxPoolGradV2"}) {
    kernels.add(op, "cuda", Pool<PoolKind::kMaxGrad>::make, floats);
  }
  kernels.add("AvgPool", "cuda", Pool<PoolKind::kAvg>::make, floats);
  kernels.add("AvgPoolGrad", "cuda", Pool<PoolKind::kAvgGrad>::make, floats);
}

}  // namespace argosy
