// Convolution and pooling of volumes, [batch, depth, height, width, channels], and grey-scale dilation of images.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of 3-D convolutions; five numbers each, in the order of NDHWC.
struct Conv3dOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1, 1};    // 1 for batch and channels
  std::string padding = "SAME";                           // or "VALID"
  std::vector<std::int64_t> dilations = {1, 1, 1, 1, 1};  // 1 for batch and channels
};
// Convolution of volumes. `filter`: [depth, height, width, in channels, out channels].
Value conv3d(Value x, Value filter, const Conv3dOptions& options = {});
// The largest value of every window of [batch, depth, height, width, channels].
Value max_pool3d(Value x, const std::vector<std::int64_t>& ksize, const std::vector<std::int64_t>& strides,
                 const std::string& padding = "VALID");
// The mean of every window.
Value avg_pool3d(Value x, const std::vector<std::int64_t>& ksize, const std::vector<std::int64_t>& strides,
                 const std::string& padding = "VALID");
// The greatest sum of image and filter [height, width, channels] over each window of NHWC images.
Value dilation2d(Value x, Value filter, const std::vector<std::int64_t>& strides,
                 const std::vector<std::int64_t>& rates, const std::string& padding = "SAME");

}  // namespace argosy
