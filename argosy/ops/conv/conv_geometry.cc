#include "argosy/ops/conv/conv_geometry.h"

#include "argosy/base/checked.h"

namespace argosy {

Result<ConvAttrs> read_conv(std::string_view op, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const WindowAttrs window, read_window(op, attrs));
  ConvAttrs a;
  static_cast<WindowAttrs&>(a) = window;
  a.op = op;
  a.depthwise = op.starts_with("Depthwise");
  return a;
}

Result<ConvGeometry> conv_geometry(const ConvAttrs& attrs, const Shape& input, const Shape& filter) {
  if (input.rank() != 4 || filter.rank() != 4) {
    return invalid_argument(attrs.op, ": image and filter must have rank 4, not shapes ", input, " and ", filter)
        .with_id("ARG-SHAPE-004");
  }
  ConvGeometry g;
  g.batch = input[attrs.batch_axis()];
  g.in_c = input[attrs.channel_axis()];
  ARGOSY_ASSIGN_OR_RETURN(g.h, slide(attrs.op, attrs, 0, input[attrs.height_axis()], filter[0]));
  ARGOSY_ASSIGN_OR_RETURN(g.w, slide(attrs.op, attrs, 1, input[attrs.width_axis()], filter[1]));
  const std::int64_t filter_in = filter[2];
  const auto mismatch = [&] {
    return invalid_argument("input depth must be evenly divisible by filter depth: ", g.in_c, " vs ", filter[2], ": ",
                            attrs.op, ": filter ", filter, " does not fit an image of ", g.in_c, " channels")
        .with_id("ARG-SHAPE-012")
        .with_hint("a filter is [height, width, in, out]");
  };
  if (attrs.depthwise) {
    if (filter_in != g.in_c) return mismatch();
    const auto out_c = checked_mul(g.in_c, filter[3]);
    if (!out_c) return mismatch();
    g.out_c = *out_c;
    g.groups = std::max<std::int64_t>(1, g.in_c);
  } else {
    if (filter_in == 0 ? g.in_c != 0 : g.in_c % filter_in != 0) return mismatch();
    g.out_c = filter[3];
    g.groups = filter_in == 0 ? 1 : std::max<std::int64_t>(1, g.in_c / filter_in);
    if (g.out_c % g.groups != 0) {
      return invalid_argument(attrs.op, ": ", g.groups, " groups do not divide ", g.out_c, " output channels");
    }
  }
  const auto sizes = attrs.image(g.batch, g.h.out, g.w.out, g.out_c);
  ARGOSY_RETURN_IF_ERROR(Shape::make(sizes).status());
  return g;
}

Shape conv_output_shape(const ConvAttrs& attrs, const ConvGeometry& g) {
  return Shape(std::span<const std::int64_t>(attrs.image(g.batch, g.h.out, g.w.out, g.out_c)));
}

Status check_out_backprop(const ConvAttrs& attrs, const ConvGeometry& g, const Shape& out_backprop) {
  const Shape forward = conv_output_shape(attrs, g);
  if (out_backprop == forward) return ok_status();
  return invalid_argument(attrs.op, ": out_backprop has shape ", out_backprop, ", but the convolution gives ", forward)
      .with_id("ARG-SHAPE-013");
}

Result<Shape> conv_input_sizes(const ConvAttrs& attrs, const Tensor& sizes, const Shape& filter,
                               const Shape& out_backprop) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape given, to_shape(sizes, str_cat(attrs.op, ": input_sizes")));
  if (sizes.shape().rank() == 1 && given.rank() == 4) return given;
  if (sizes.shape().rank() != 1 || given.rank() != 2 || out_backprop.rank() != 4 || filter.rank() != 4) {
    return invalid_argument(attrs.op, ": input_sizes must be a vector of 4 (or 2) sizes, not ", sizes.shape());
  }
  return Shape::make(attrs.image(out_backprop[0], given[0], given[1], filter[2]));
}

}  // namespace argosy
