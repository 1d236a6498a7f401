// 2-D convolutions over images, as tf.nn has them: cross-correlation, filters [height, width, in, out].
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of 2-D convolutions.
struct Conv2DOptions {
  std::array<std::int64_t, 2> strides = {1, 1};      // height, width
  std::string padding = "SAME";                      // or "VALID", or "EXPLICIT" by the next field
  std::vector<std::int64_t> explicit_paddings = {};  // before and after of each of the four axes
  std::array<std::int64_t, 2> dilations = {1, 1};    // height, width
  std::string data_format = "NHWC";                  // or "NCHW"
};

// Convolution of images [batch, height, width, channels] with filters [height, width, in, out].
Value conv2d(Value x, Value filter, const Conv2DOptions& options = {}, std::string_view name = "Conv2D");

// The gradient of conv2d as a layer ("deconvolution"): images grow by the strides. The filter is [height, width, out,
// in]. `output_shape`: four sizes. If it is empty, height and width are multiplied by the strides. Without SAME padding,
// as in Keras, they are size * stride + max(window - stride, 0).
Value conv2d_transpose(Value x, Value filter, const Conv2DOptions& options = {},
                       const std::vector<std::int64_t>& output_shape = {}, std::string_view name = "conv2d_transpose");

// A convolution of each channel by itself: filter [height, width, in, multiplier], out = in * multiplier.
Value depthwise_conv2d(Value x, Value filter, const Conv2DOptions& options = {}, std::string_view name = "depthwise");

}  // namespace argosy
