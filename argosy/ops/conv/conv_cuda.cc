// Convolutions on a GPU: by cuDNN if it is there, else by our own kernels.
#include "argosy/ops/conv/gpu/gpu_conv.h"
#include "argosy/ops/conv/gpu/windows_cuda.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

namespace {

using cuda::GpuAxis;
using cuda::GpuConv;
using cuda::GpuImage;

constexpr const char* kModule = "conv";

GpuAxis axis_of(const WindowAxis& a) { return {a.in, a.window, a.stride, a.dilation, a.out, a.pad_before}; }
GpuImage image_of(bool nchw, std::int64_t h, std::int64_t w, std::int64_t c) {
  return nchw ? GpuImage{h * w * c, w, 1, h * w} : GpuImage{h * w * c, w * c, c, 1};
}

class Conv final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<Conv>();
    ARGOSY_ASSIGN_OR_RETURN(kernel->attrs_, read_conv(init.op.name, init.attrs));
    if (init.attrs.find("fused_ops") != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(
          kernel->fused_, parse_fused_ops(init.op.name, init.attrs, static_cast<int>(init.input_dtypes.size()) - 2));
    }
    kernel->suffix_ = cuda::type_suffix(init.output_dtypes[0]);
    kernel->capturable_ = cuda::reads_constants_only(init);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    if (attrs_.op.ends_with("BackpropInput")) return backward_input(c);
    if (attrs_.op.ends_with("BackpropFilter")) return backward_filter(c);
    return forward(c);
  }

 private:
  Status forward(KernelContext& c) const {
    const Tensor &image = c.input(0), &filter = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs_, image.shape(), filter.shape()));
    const void* bias = nullptr;
    if (fused_.bias) {
      const Shape& shape = c.input(2).shape();
      if (shape.rank() != 1 || shape[0] != g.out_c) {
        return invalid_argument(attrs_.op, ": bias of shape ", shape, " does not fit ", g.out_c, " channels");
      }
      bias = c.input(2).raw();
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, conv_output_shape(attrs_, g)));
    cuda::ConvCall call = call_of(cuda::kDnnForward, y->dtype(), g);
    call.image = image.raw(), call.filter = filter.raw(), call.bias = bias;
    call.fused = fused_;
    if (const Status done = cuda::conv_by_library(c, call, y->raw()); done.code() != Code::kUnimplemented) return done;
    return cuda::launch(c, {kModule, str_cat("conv_forward_", suffix_)}, cuda::grid_for(y->elements()), describe(g),
                        image.raw(), filter.raw(), bias, y->raw());
  }
  Status backward_input(KernelContext& c) const {
    const Tensor &filter = c.input(1), &dy = c.input(2);
    ARGOSY_ASSIGN_OR_RETURN(const Shape sizes, conv_input_sizes(attrs_, c.input(0), filter.shape(), dy.shape()));
    ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs_, sizes, filter.shape()));
    ARGOSY_RETURN_IF_ERROR(check_out_backprop(attrs_, g, dy.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, sizes));
    cuda::ConvCall call = call_of(cuda::kDnnTowardsImage, dx->dtype(), g);
    call.filter = filter.raw(), call.output = dy.raw();
    if (const Status done = cuda::conv_by_library(c, call, dx->raw()); done.code() != Code::kUnimplemented) return done;
    return cuda::launch(c, {kModule, str_cat("conv_backward_input_", suffix_)}, cuda::grid_for(dx->elements()),
                        describe(g), dy.raw(), filter.raw(), dx->raw());
  }
  Status backward_filter(KernelContext& c) const {
    const Tensor &image = c.input(0), &dy = c.input(2);
    ARGOSY_ASSIGN_OR_RETURN(const Shape sizes, to_shape(c.input(1), str_cat(attrs_.op, ": filter_sizes")));
    ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs_, image.shape(), sizes));
    ARGOSY_RETURN_IF_ERROR(check_out_backprop(attrs_, g, dy.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const df, c.output(0, sizes));
    cuda::ConvCall call = call_of(cuda::kDnnTowardsFilter, df->dtype(), g);
    call.image = image.raw(), call.output = dy.raw();
    if (const Status done = cuda::conv_by_library(c, call, df->raw()); done.code() != Code::kUnimplemented) return done;
    cuda::LaunchShape shape{.block = {128}};
    shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(df->elements(), cuda::kMostBlocks));
    return cuda::launch(c, {kModule, str_cat("conv_backward_filter_", suffix_)}, shape, describe(g), image.raw(),
                        dy.raw(), df->raw());
  }

  cuda::ConvCall call_of(int direction, DType dtype, const ConvGeometry& g) const {
    return {.direction = direction, .dtype = dtype, .nchw = attrs_.nchw, .geometry = g};
  }

  GpuConv describe(const ConvGeometry& g) const {
    return {.batch = g.batch,
            .in_c = g.in_c,
            .out_c = g.out_c,
            .groups = g.groups,
            .h = axis_of(g.h),
            .w = axis_of(g.w),
            .in = image_of(attrs_.nchw, g.h.in, g.w.in, g.in_c),
            .out = image_of(attrs_.nchw, g.h.out, g.w.out, g.out_c),
            .activation = static_cast<int>(fused_.activation),
            .alpha = fused_.alpha};
  }

 public:
  Conv() = default;

 private:
  ConvAttrs attrs_;
  FusedOps fused_;
  std::string_view suffix_;
  bool capturable_ = true;
};

}  // namespace

void add_kernels_cuda_conv(KernelRegistry& kernels) {
  for (const char* op :
       {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "_FusedConv2D", "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"}) {
    kernels.add(op, "cuda", Conv::make, {{"T", cuda::kFloatingTypes}});
  }
}

}  // namespace argosy
