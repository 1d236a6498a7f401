// Pooling of images, as tf.nn has it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of max_pool() and avg_pool().
struct PoolOptions {
  std::array<std::int64_t, 2> window = {2, 2};   // height, width
  std::array<std::int64_t, 2> strides = {0, 0};  // height, width; 0: the window's size
  // The padding scheme.
  std::string padding = "VALID";  // or "SAME"
  // The order of the axes.
  std::string data_format = "NHWC";  // or "NCHW"
};

// The largest value under each window. The gradient goes to the first of equal values, in row-major order.
Value max_pool(Value x, const PoolOptions& options = {}, std::string_view name = "MaxPool");
// The mean of the values under each window that lie inside the image.
Value avg_pool(Value x, const PoolOptions& options = {}, std::string_view name = "AvgPool");

}  // namespace argosy
