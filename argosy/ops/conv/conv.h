// 2-D convolutions over images, as tf.nn has them: cross-correlation, filters [height, width, in, out].
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Of convolutions of images.
struct Conv2DOptions {
  std::array<std::int64_t, 2> strides = {1, 1};      // height, width
  std::string padding = "SAME";                      // or "VALID", or "EXPLICIT" with
  std::vector<std::int64_t> explicit_paddings = {};  // before and after of each of the four axes
  std::array<std::int64_t, 2> dilations = {1, 1};    // height, width
  std::string data_format = "NHWC";                  // or "NCHW"
};

// Convolution of images [batch, height, width, channels] with filters [height, width, in, out].
Value conv2d(Value x, Value filter, const Conv2DOptions& options = {}, std::string_view name = "Conv2D");

// The gradient of conv2d as a layer of its own ("deconvolution"): grows images by the strides. The filter is
// [height, width, out, in]. Without `output_shape` (four sizes), height and width are multiplied by the strides, as
// SAME padding gives back.
Value conv2d_transpose(Value x, Value filter, const Conv2DOptions& options = {},
                       const std::vector<std::int64_t>& output_shape = {}, std::string_view name = "conv2d_transpose");

// Every channel by itself: filter [height, width, in, multiplier], out = in * multiplier.
Value depthwise_conv2d(Value x, Value filter, const Conv2DOptions& options = {}, std::string_view name = "depthwise");

}  // namespace argosy
