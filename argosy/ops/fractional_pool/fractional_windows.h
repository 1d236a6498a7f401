// Where the windows of fractional pooling begin: drawn by TensorFlow's generator as TensorFlow draws them, so that
// equal seeds give equal windows. Private to this folder. Source: B. Graham, "Fractional max-pooling" (2014).
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/ops/random/philox.h"

namespace argosy::fractional {

// `windows` + 1 rising places from 0 to `size`: windows of floor(size / windows) and one more. `pseudo_random`: they
// follow a line of slope size / windows from a drawn start; else they are shuffled. REQUIRES: 0 < windows <= size.
std::vector<std::int64_t> draw_windows(std::int64_t size, std::int64_t windows, bool pseudo_random,
                                       SharedPhilox& generator);

}  // namespace argosy::fractional
