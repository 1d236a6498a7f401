// Kernels that run plain ops one after another.
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/conv/composed.h"
#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

// In the memory of the kernel's device, so that it counts there.
Result<Tensor> one_of(const KernelContext& c, const char* op, const AttrMap& attrs, const std::vector<Tensor>& inputs) {
  const EvaluateOptions options{.memory = &c.allocator()};
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> y, evaluate_op(*builtin_ops().find(op), attrs, inputs, options));
  return std::move(y[0]);
}

Status conv(KernelContext& c, const AttrMap& attrs) {
  const Tensor &x = c.input(0), &f = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const int spatial, spatial_axes(attrs, x.shape().rank(), f.shape().rank()));
  const int batch_dims = x.shape().rank() - spatial - 1;
  Ints sizes = {1};
  for (int k = 0; k < batch_dims; ++k) sizes[0] *= x.shape()[k];
  sizes.append(x.shape().sizes().subspan(static_cast<std::size_t>(batch_dims)));
  const bool first = attrs.get_string("data_format") == "CHANNELS_FIRST";
  const std::int64_t channels = sizes[first ? 1 : spatial + 1], groups = attrs.get_int("groups");
  if (channels % groups != 0 || channels / groups != f.shape()[spatial]) {
    return invalid_argument("Conv: ", channels, " channels in ", groups, " groups do not fit a filter of ", f.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape flat, Shape::make(sizes.span()));
  const AttrMap plain = attrs_of_plain_conv(attrs, spatial);
  Tensor y;
  if (x.dtype() == DType::kInt32) {
    if (spatial == 2) {  // what the shape function asks for
      ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs checked, read_conv("Conv2D", plain));
      ARGOSY_RETURN_IF_ERROR(conv_geometry(checked, flat, f.shape()).status());
    }
    ARGOSY_ASSIGN_OR_RETURN(y, integer_conv(x.reshaped(flat), f, plain, spatial, first, c.allocator()));
  } else {
    ARGOSY_ASSIGN_OR_RETURN(y, one_of(c, spatial == 2 ? "Conv2D" : "Conv3D", plain, {x.reshaped(flat), f}));
  }
  std::vector<std::int64_t> back(x.shape().sizes().begin(), x.shape().sizes().begin() + batch_dims);
  back.insert(back.end(), y.shape().sizes().begin() + 1, y.shape().sizes().end());
  c.set_output(0, y.reshaped(Shape(back)));
  return ok_status();
}

Status padded_conv(KernelContext& c, const AttrMap& attrs) {
  const bool resized = c.num_inputs() == 4;
  const Tensor &paddings = c.input(resized ? 2 : 1), &f = c.input(resized ? 3 : 2);
  Tensor x = c.input(0);
  if (x.shape().rank() != 4) return invalid_argument("input must be 4-dimensional: ", x.shape());
  if (f.shape().rank() != 4) return invalid_argument("filter must be 4-dimensional: ", f.shape());
  if (paddings.shape() != Shape{4, 2}) {
    return invalid_argument("The first dimension of paddings must be the rank of inputs: 4 ", paddings.shape(), " ",
                            x.shape());
  }
  if (x.shape()[3] != f.shape()[2]) {
    return invalid_argument("input and filter must have the same depth: ", x.shape()[3], " vs ", f.shape()[2]);
  }
  const DType dtype = x.dtype();
  if (resized) {
    ARGOSY_ASSIGN_OR_RETURN(
        x, one_of(c, "ResizeBilinear", {{"align_corners", attrs.get_bool("resize_align_corners")}}, {x, c.input(1)}));
    if (x.dtype() != dtype) {
      ARGOSY_ASSIGN_OR_RETURN(x, one_of(c, "Cast", {{"DstT", dtype}}, {x}));
    }
  }
  std::array<std::int64_t, 8> by{};
  std::copy_n(paddings.data<std::int32_t>(), 8, by.begin());
  const std::string& mode = attrs.get_string("mode");
  ARGOSY_RETURN_IF_ERROR(mirrored_sizes(x.shape().sizes(), by, mode == "REFLECT").status());
  ARGOSY_ASSIGN_OR_RETURN(x, one_of(c, "MirrorPad", {{"mode", mode}}, {x, paddings}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, one_of(c, "Conv2D",
                                           {{"strides", attrs.get<std::vector<std::int64_t>>("strides")},
                                            {"padding", attrs.get_string("padding")}},
                                           {x, f}));
  c.set_output(0, std::move(y));
  return ok_status();
}

}  // namespace

void add_kernels_cpu_composed_convolutions(KernelRegistry& kernels) {
  kernels.add("Conv", "cpu", with_workspace<AttrKernel<conv>::make, known_when_run>);
  kernels.add("FusedPadConv2D", "cpu", with_workspace<AttrKernel<padded_conv>::make, known_when_run>);
  kernels.add("FusedResizeAndPadConv2D", "cpu", with_workspace<AttrKernel<padded_conv>::make, known_when_run>);
}

}  // namespace argosy
