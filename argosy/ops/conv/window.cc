#include "argosy/ops/conv/window.h"

#include <algorithm>

namespace argosy {

namespace {
constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // of one axis, a stride, a padding: sums of them fit int64
}

std::vector<std::int64_t> WindowAttrs::image(std::int64_t batch, std::int64_t h, std::int64_t w,
                                             std::int64_t channels) const {
  return nchw ? std::vector<std::int64_t>{batch, channels, h, w} : std::vector<std::int64_t>{batch, h, w, channels};
}

Result<std::array<std::int64_t, 2>> spatial_pair(std::string_view op, std::string_view attr,
                                                 std::span<const std::int64_t> four, bool nchw) {
  if (four.size() != 4) return invalid_argument(op, ": ", attr, " must have 4 entries, not ", four.size());
  const std::array<std::int64_t, 2> pair = {four[nchw ? 2 : 1], four[nchw ? 3 : 2]};
  if (four[0] != 1 || four[nchw ? 1 : 3] != 1) {
    // The code that TensorFlow returns, which differs between its ops.
    const bool invalid = op == "Conv2DBackpropFilter" || op == "QuantizedConv2D" ||
                         (op.starts_with("DepthwiseConv2dNative") && attr == "strides");
    return Status(invalid ? Code::kInvalidArgument : Code::kUnimplemented,
                  str_cat(op, ": ", attr, " [", str_join(four), "] must be 1 in batch and channels"))
        .with_hint(str_cat("give them in the order of data_format ", nchw ? "NCHW" : "NHWC"));
  }
  for (const std::int64_t n : pair) {
    if (n < 1 || n > kLargest) return invalid_argument(op, ": ", attr, " [", str_join(four), "] must be positive");
  }
  return pair;
}

Result<WindowAttrs> read_window(std::string_view op, const AttrMap& attrs) {
  WindowAttrs w;
  const std::string format = attrs.get_or<std::string>("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW") {
    return unimplemented(op, ": data_format ", format, " is not supported on this device").with_hint("use NHWC");
  }
  w.nchw = format == "NCHW";
  const std::string& padding = attrs.get_string("padding");
  w.padding = padding == "SAME" ? Padding::kSame : padding == "VALID" ? Padding::kValid : Padding::kExplicit;
  using Ints = std::vector<std::int64_t>;
  if (const Ints* strides = attrs.find_as<Ints>("strides")) {
    ARGOSY_ASSIGN_OR_RETURN(w.stride, spatial_pair(op, "strides", *strides, w.nchw));
  }
  if (const Ints* dilations = attrs.find_as<Ints>("dilations")) {
    ARGOSY_ASSIGN_OR_RETURN(w.dilation, spatial_pair(op, "dilations", *dilations, w.nchw));
  }
  const Ints* pads = attrs.find_as<Ints>("explicit_paddings");
  const std::size_t wanted = w.padding == Padding::kExplicit ? 8 : 0;
  if (pads == nullptr && wanted > 0) return invalid_argument(op, ": padding EXPLICIT is not supported");
  if (pads == nullptr) return w;
  if (pads->size() != wanted) {
    return invalid_argument(op, ": explicit_paddings must have ", wanted, " entries for padding ", padding, ", not ",
                            pads->size());
  }
  if (wanted == 0) return w;
  const auto at = [&](int axis, int side) { return (*pads)[static_cast<std::size_t>(2 * axis + side)]; };
  for (int axis = 0; axis < 4; ++axis) {
    for (int side = 0; side < 2; ++side) {
      const bool spatial = axis == w.height_axis() || axis == w.width_axis();
      if (at(axis, side) < 0 || at(axis, side) > (spatial ? kLargest : 0)) {
        return invalid_argument(op, ": explicit_paddings [", str_join(*pads),
                                "] must not be negative, and 0 in batch and channels");
      }
    }
  }
  w.pads = {{{at(w.height_axis(), 0), at(w.height_axis(), 1)}, {at(w.width_axis(), 0), at(w.width_axis(), 1)}}};
  return w;
}

Result<WindowAxis> slide(std::string_view op, const WindowAttrs& attrs, int axis, std::int64_t in,
                         std::int64_t window) {
  WindowAxis a{in, window, attrs.stride[axis], attrs.dilation[axis], 0, 0, 0};
  const char* const what = axis == 0 ? "height" : "width";
  if (in > kLargest || window > kLargest || window > kLargest / a.dilation)
    return invalid_argument(op, ": ", what, " ", in, " under a window of ", window, " is too large");
  if (window < 1) return invalid_argument(op, ": a window of ", what, " ", window, " is empty");
  const std::int64_t reach = (window - 1) * a.dilation + 1;
  if (attrs.padding == Padding::kSame) {
    a.out = (in + a.stride - 1) / a.stride;
    const std::int64_t total = std::max<std::int64_t>(0, (a.out - 1) * a.stride + reach - in);
    a.pad_before = total / 2;
    a.pad_after = total - a.pad_before;
    return a;
  }
  if (attrs.padding == Padding::kExplicit) {
    a.pad_before = attrs.pads[axis][0];
    a.pad_after = attrs.pads[axis][1];
  }
  a.out = (in + a.pad_before + a.pad_after - reach + a.stride) / a.stride;
  if (a.out < 0) {
    return invalid_argument("Computed output size would be negative: ", a.out, " [input_size: ", in,
                            ", effective_filter_size: ", reach, ", stride: ", a.stride, "]: ", op, ": ", what, " ", in,
                            " with padding ", a.pad_before, "+", a.pad_after)
        .with_id("ARG-SHAPE-011")
        .with_hint("padding SAME, or a smaller window");
  }
  return a;
}

Result<std::int64_t> slide_size(std::string_view op, const WindowAttrs& attrs, int axis, std::int64_t in,
                                std::int64_t window) {
  if (in < 0 || (window < 0 && attrs.padding != Padding::kSame)) return PartialShape::kUnknown;
  ARGOSY_ASSIGN_OR_RETURN(const WindowAxis a, slide(op, attrs, axis, in, window < 0 ? 1 : window));
  return a.out;
}

}  // namespace argosy
