// Pooling of NHWC images by ratios that need not be whole numbers: window sizes are drawn, so that they vary by one.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Options of fractional pooling.
struct FractionalPoolOptions {
  float height_ratio = 1, width_ratio = 1;  // at least 1: of the input's size to the output's
  bool pseudo_random = false;               // boundaries on a line, not shuffled sizes
  bool overlapping = false;                 // a window has the first row and column of the next one, too
  std::int64_t seed = 0, seed2 = 0;         // both 0: other windows every time
};
// Output 0: the pooled images. Outputs 1 and 2: the boundaries of windows along the height and along the width.
Value fractional_max_pool(Value x, const FractionalPoolOptions& options = {});
Value fractional_avg_pool(Value x, const FractionalPoolOptions& options = {});  // the mean of each window

}  // namespace argosy
