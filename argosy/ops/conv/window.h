// Windows that slide over images: what convolutions and pooling share. Formulas: TensorFlow's kernel_shape_util.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "argosy/op/definition/attr.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

enum class Padding : std::uint8_t { kSame, kValid, kExplicit };

// One axis of an image under a window.
struct WindowAxis {
  std::int64_t in = 0, window = 0, stride = 1, dilation = 1;
  std::int64_t out = 0, pad_before = 0, pad_after = 0;
};

// The attributes strides, dilations, padding, explicit_paddings and data_format of an op, read and checked once.
struct WindowAttrs {
  bool nchw = false;
  Padding padding = Padding::kValid;
  std::array<std::int64_t, 2> stride = {1, 1}, dilation = {1, 1};  // height, width
  std::array<std::array<std::int64_t, 2>, 2> pads = {};            // explicit ones: {top, bottom}, {left, right}

  int batch_axis() const { return 0; }
  int channel_axis() const { return nchw ? 1 : 3; }
  int height_axis() const { return nchw ? 2 : 1; }
  int width_axis() const { return nchw ? 3 : 2; }

  // Four sizes in the order of the data format.
  std::vector<std::int64_t> image(std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t channels) const;
};

// read_window() reads and checks the attributes. spatial_pair() checks the four entries of one attribute, or of an
// input in its place (MaxPoolV2), and returns height and width.
// INVALID_ARGUMENT unless there are four entries, and those of height and width are positive. If those of batch and
// channel are not 1, INVALID_ARGUMENT or UNIMPLEMENTED, whichever TensorFlow returns for the op.
Result<WindowAttrs> read_window(std::string_view op, const AttrMap& attrs);
Result<std::array<std::int64_t, 2>> spatial_pair(std::string_view op, std::string_view attr,
                                                 std::span<const std::int64_t> four, bool nchw);

// Returns an axis with `out` and its padding. INVALID_ARGUMENT if the window is so much larger than the padded image
// that the output size would be negative.
Result<WindowAxis> slide(std::string_view op, const WindowAttrs& attrs, int axis, std::int64_t in, std::int64_t window);

// Returns only the output size; `in` and `window` may be unknown.
Result<std::int64_t> slide_size(std::string_view op, const WindowAttrs& attrs, int axis, std::int64_t in,
                                std::int64_t window);

}  // namespace argosy
