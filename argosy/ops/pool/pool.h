// Pooling of images, as tf.nn has it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// Of pooling of images.
struct PoolOptions {
  std::array<std::int64_t, 2> window = {2, 2};   // height, width
  std::array<std::int64_t, 2> strides = {0, 0};  // 0: the window's
  // Or "SAME".
  std::string padding = "VALID";  // or "SAME"
  // Or "NCHW".
  std::string data_format = "NHWC";  // or "NCHW"
};

// The largest value under each window. The gradient goes to the first of equals, row by row.
Value max_pool(Value x, const PoolOptions& options = {}, std::string_view name = "MaxPool");
// The mean of the values under each window that lie inside the image.
Value avg_pool(Value x, const PoolOptions& options = {}, std::string_view name = "AvgPool");

}  // namespace argosy
