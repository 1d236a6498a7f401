#include "argosy/ops/pool/pool_geometry.h"

namespace argosy {

namespace {
Status check_inside(const std::string& op, const WindowAxis& a, const char* what) {
  const std::int64_t reach = (a.window - 1) * a.dilation + 1;
  if (a.out > 0 && (a.pad_before >= reach || (a.out - 1) * a.stride - a.pad_before >= a.in)) {
    return invalid_argument(op, ": padding ", a.pad_before, "+", a.pad_after, " of the ", what,
                            " must be smaller than the window, ", a.window);
  }
  return ok_status();
}
}  // namespace

Status set_pool_window(PoolAttrs& attrs, std::span<const std::int64_t> ksize, std::span<const std::int64_t> strides) {
  if (ksize.size() != 4) return invalid_argument(attrs.op, ": ksize must have 4 entries, not ", ksize.size());
  for (const std::int64_t k : ksize) {
    if (k < 1) return invalid_argument(attrs.op, ": ksize [", str_join(ksize), "] must be positive");
  }
  if (ksize[0] != 1 || ksize[attrs.channel_axis()] != 1) {
    return unimplemented(attrs.op, ": windows over batch or channels are not supported: ksize [", str_join(ksize), "]");
  }
  attrs.window = {ksize[attrs.height_axis()], ksize[attrs.width_axis()]};
  ARGOSY_ASSIGN_OR_RETURN(attrs.stride, spatial_pair(attrs.op, "strides", strides, attrs.nchw));
  return ok_status();
}

Result<PoolAttrs> read_pool(std::string_view op, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const WindowAttrs window, read_window(op, attrs));
  PoolAttrs a;
  static_cast<WindowAttrs&>(a) = window;
  a.op = op;
  using Ints = std::vector<std::int64_t>;
  if (const Ints* ksize = attrs.find_as<Ints>("ksize")) {
    ARGOSY_RETURN_IF_ERROR(set_pool_window(a, *ksize, attrs.get<Ints>("strides")));
  }
  return a;
}

Result<PoolGeometry> pool_geometry(const PoolAttrs& attrs, const Shape& image) {
  if (image.rank() != 4) {
    return invalid_argument(attrs.op, ": images must have rank 4, not shape ", image).with_id("ARG-SHAPE-004");
  }
  PoolGeometry g;
  ARGOSY_ASSIGN_OR_RETURN(g.h, slide(attrs.op, attrs, 0, image[attrs.height_axis()], attrs.window[0]));
  ARGOSY_ASSIGN_OR_RETURN(g.w, slide(attrs.op, attrs, 1, image[attrs.width_axis()], attrs.window[1]));
  ARGOSY_RETURN_IF_ERROR(check_inside(attrs.op, g.h, "height"));
  ARGOSY_RETURN_IF_ERROR(check_inside(attrs.op, g.w, "width"));
  const std::int64_t channels = image[attrs.channel_axis()];
  ARGOSY_RETURN_IF_ERROR(Shape::make(attrs.image(image[0], g.h.out, g.w.out, channels)).status());
  g.images = attrs.nchw ? image[0] * channels : image[0];
  g.channels = attrs.nchw ? 1 : channels;
  return g;
}

Shape pool_output_shape(const PoolAttrs& attrs, const Shape& image, const PoolGeometry& g) {
  return Shape(std::span<const std::int64_t>(attrs.image(image[0], g.h.out, g.w.out, image[attrs.channel_axis()])));
}

}  // namespace argosy
