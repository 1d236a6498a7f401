// The boundaries of the windows of fractional pooling, drawn by TensorFlow's generator as TensorFlow draws them: equal
// seeds give equal windows. Private to this folder. Source: B. Graham, "Fractional max-pooling" (2014).
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/ops/random/philox.h"

namespace argosy::fractional {

// Returns `windows` + 1 rising boundaries from 0 to `size`. Each window has floor(size / windows) elements, or one
// more. `pseudo_random`: boundaries follow a line of slope size / windows from a drawn start. Else the lengths are
// shuffled. REQUIRES: 0 < windows <= size.
std::vector<std::int64_t> draw_windows(std::int64_t size, std::int64_t windows, bool pseudo_random,
                                       SharedPhilox& generator);

}  // namespace argosy::fractional
