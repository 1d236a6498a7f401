// The sizes of one convolution, from shapes that are not trusted: checked here once, for every kernel.
#pragma once

#include "argosy/op/definition/op_def.h"
#include "argosy/ops/conv/window.h"

namespace argosy {

struct ConvAttrs : WindowAttrs {
  std::string op;
  bool depthwise = false;
};
Result<ConvAttrs> read_conv(std::string_view op, const AttrMap& attrs);

// Sizes are those of [batch, h, w, c], whatever the data format. A depthwise filter [h, w, in, multiplier] is taken as
// [h, w, 1, in * multiplier] with `in` groups: its layout in memory is the same.
struct ConvGeometry {
  std::int64_t batch = 0, in_c = 0, out_c = 0, groups = 1;
  WindowAxis h, w;

  std::int64_t in_c_per_group() const { return in_c / groups; }
  std::int64_t out_c_per_group() const { return out_c / groups; }
  std::int64_t in_elements() const { return batch * h.in * w.in * in_c; }
  std::int64_t out_elements() const { return batch * h.out * w.out * out_c; }
  std::int64_t filter_elements() const { return h.window * w.window * in_c_per_group() * out_c; }
};

// INVALID_ARGUMENT unless `input` and `filter` have rank 4 and channels that fit.
Result<ConvGeometry> conv_geometry(const ConvAttrs& attrs, const Shape& input, const Shape& filter);
// INVALID_ARGUMENT unless the output's gradient has the shape of the forward convolution's output.
Status check_out_backprop(const ConvAttrs& attrs, const ConvGeometry& g, const Shape& out_backprop);
// Reads the input_sizes of Conv2DBackpropInput: four numbers, or height and width alone.
Result<Shape> conv_input_sizes(const ConvAttrs& attrs, const Tensor& sizes, const Shape& filter,
                               const Shape& out_backprop);
Shape conv_output_shape(const ConvAttrs& attrs, const ConvGeometry& g);

}  // namespace argosy
