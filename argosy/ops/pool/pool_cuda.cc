// Pooling on a GPU by our own kernels, and the registration of all its GPU kernels.
#include "argosy/ops/conv/gpu/windows_cuda.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/pool/gpu_pool.h"

namespace argosy {

namespace {

using cuda::GpuAxis;
using cuda::GpuPool;

GpuAxis axis_of(const WindowAxis& a) { return {a.in, a.window, a.stride, a.dilation, a.out, a.pad_before}; }

template <PoolKind kKind>
class Pool final : public Kernel {
 public:
  Pool(PoolAttrs attrs, std::string_view suffix, bool capturable)
      : attrs_(std::move(attrs)), suffix_(suffix), capturable_(capturable) {}
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const PoolCall call, begin_pool(c, attrs_, kKind));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, call.output(kKind)));
    const PoolGeometry& g = call.geometry;
    const GpuPool pool{g.images, g.channels, axis_of(g.h), axis_of(g.w)};
    const cuda::LaunchShape shape = cuda::grid_for(out->elements());
    const auto named = [&](const char* name) { return str_cat(name, suffix_); };
    if constexpr (kKind == PoolKind::kMax) {
      return cuda::launch(c, {kModule, named("max_pool_")}, shape, pool, c.input(0).raw(), out->raw());
    } else if constexpr (kKind == PoolKind::kMaxGrad) {
      return cuda::launch(c, {kModule, named("max_pool_grad_")}, shape, pool, c.input(0).raw(), c.input(2).raw(),
                          out->raw());
    } else if constexpr (kKind == PoolKind::kMaxGradGrad) {
      return cuda::launch(c, {kModule, named("max_pool_pick_")}, shape, pool, c.input(0).raw(), c.input(2).raw(),
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
  const bool capturable_;
};

// MaxPoolWithArgmax, and what flows back through it: where the largest elements lie goes out with them. Images are
// NHWC.
template <bool kGradient>
class ArgmaxPool final : public Kernel {
 public:
  ArgmaxPool(PoolAttrs attrs, bool batch_in_index, std::string_view suffix, bool capturable)
      : attrs_(std::move(attrs)), batch_in_index_(batch_in_index), suffix_(suffix), capturable_(capturable) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(
        std::make_unique<ArgmaxPool>(std::move(attrs), init.attrs.get_bool("include_batch_in_index"),
                                     cuda::type_suffix(init.output_dtypes[0]), cuda::reads_constants_only(init)));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const PoolCall call, pool_of(attrs_, c.input(0).shape()));
    const PoolGeometry& g = call.geometry;
    const GpuPool pool{g.images, g.channels, axis_of(g.h), axis_of(g.w)};
    const std::int64_t all = call.image.elements(), image = g.images == 0 ? 0 : all / g.images;
    const std::int64_t within = batch_in_index_ ? all : image;  // indices count from the start of so many elements
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, kGradient ? call.image : call.pooled));
    const cuda::LaunchShape shape = cuda::grid_for(out->elements());
    if constexpr (kGradient) {
      for (const int i : {1, 2}) {
        if (c.input(i).shape() == call.pooled) continue;
        return invalid_argument(attrs_.op, ": input ", i, " must have shape ", call.pooled, ", not ",
                                c.input(i).shape())
            .with_id("ARG-SHAPE-013");
      }
      return cuda::launch(c, {"pool", str_cat("max_pool_argmax_grad_", suffix_)}, shape, pool, within, c.input(1).raw(),
                          c.input(2).raw(), out->raw());
    } else {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const argmax, c.output(1, call.pooled));
      return cuda::launch(c, {"pool", str_cat("max_pool_argmax_", suffix_)}, shape, pool, within, c.input(0).raw(),
                          out->raw(), argmax->raw());
    }
  }

 private:
  const PoolAttrs attrs_;
  const bool batch_in_index_;
  const std::string_view suffix_;
  const bool capturable_;
};

}  // namespace

Result<PoolCall> pool_of(const PoolAttrs& attrs, const Shape& image) {
  PoolCall call{.image = image, .nchw = attrs.nchw};
  ARGOSY_ASSIGN_OR_RETURN(call.geometry, pool_geometry(attrs, image));
  call.pooled = pool_output_shape(attrs, image, call.geometry);
  call.channels = image[attrs.channel_axis()];
  return call;
}

Result<PoolCall> begin_pool(KernelContext& c, PoolAttrs attrs, PoolKind kind) {
  const int operands = kind == PoolKind::kMax ? 1 : 3;  // before ksize and strides
  if (c.num_inputs() == operands + 2) {                 // the V2 ops
    ARGOSY_ASSIGN_OR_RETURN(const auto ksize, to_int64s(c.input(operands), str_cat(attrs.op, ": ksize")));
    ARGOSY_ASSIGN_OR_RETURN(const auto strides, to_int64s(c.input(operands + 1), str_cat(attrs.op, ": strides")));
    ARGOSY_RETURN_IF_ERROR(set_pool_window(attrs, ksize, strides));
  }
  Shape image = c.input(0).shape();
  if (kind == PoolKind::kAvgGrad) {
    ARGOSY_ASSIGN_OR_RETURN(image, to_shape(c.input(0), str_cat(attrs.op, ": orig_input_shape")));
  }
  ARGOSY_ASSIGN_OR_RETURN(PoolCall call, pool_of(attrs, image));
  const bool picks = kind == PoolKind::kMaxGradGrad;
  for (int i = 1; (to_image(kind) || picks) && i < std::min(c.num_inputs(), 3); ++i) {
    const Shape& wanted = picks && i == 2 ? call.image : call.pooled;
    if (c.input(i).shape() == wanted) continue;
    return invalid_argument(attrs.op, ": input ", i, " must have shape ", wanted, ", not ", c.input(i).shape())
        .with_id("ARG-SHAPE-013");
  }
  return call;
}

template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_own_pool(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(init.op.name, init.attrs));
  return std::unique_ptr<Kernel>(std::make_unique<Pool<kKind>>(
      std::move(attrs), cuda::type_suffix(init.output_dtypes[0]), cuda::reads_constants_only(init)));
}

void add_kernels_cuda_pool(KernelRegistry& kernels) {
  const std::vector<KernelTypes> floats = {{"T", cuda::kFloatingTypes}};
  for (const char* op : {"MaxPool", "MaxPoolV2"}) {
    kernels.add(op, "cuda", make_dnn_pool<PoolKind::kMax>, floats);
    kernels.add(op, "cuda", make_own_pool<PoolKind::kMax>, floats);
  }
  // Which of several largest elements gets the gradient is the first, as on the CPU; cuDNN does not say.
  for (const char* op : {"MaxPoolGrad", "MaxPoolGradV2"}) {
    kernels.add(op, "cuda", make_own_pool<PoolKind::kMaxGrad>, floats);
  }
  for (const char* op : {"MaxPoolGradGrad", "MaxPoolGradGradV2"}) {
    kernels.add(op, "cuda", make_own_pool<PoolKind::kMaxGradGrad>, floats);
  }
  const std::vector<KernelTypes> with_places = {{"T", cuda::kFloatingTypes}, {"Targmax", {DType::kInt64}}};
  kernels.add("MaxPoolWithArgmax", "cuda", ArgmaxPool<false>::make, with_places);
  kernels.add("MaxPoolGradWithArgmax", "cuda", ArgmaxPool<true>::make, with_places);
  kernels.add("AvgPool", "cuda", make_dnn_pool<PoolKind::kAvg>, floats);
  kernels.add("AvgPool", "cuda", make_own_pool<PoolKind::kAvg>, floats);
  kernels.add("AvgPoolGrad", "cuda", make_dnn_pool<PoolKind::kAvgGrad>, floats);
  kernels.add("AvgPoolGrad", "cuda", make_own_pool<PoolKind::kAvgGrad>, floats);
}

template Result<std::unique_ptr<Kernel>> make_own_pool<PoolKind::kMax>(const KernelInit&);
template Result<std::unique_ptr<Kernel>> make_own_pool<PoolKind::kAvg>(const KernelInit&);
template Result<std::unique_ptr<Kernel>> make_own_pool<PoolKind::kAvgGrad>(const KernelInit&);

}  // namespace argosy
