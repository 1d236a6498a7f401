// Integers from outside as int.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace argosy {

// Returns v clamped to the range of int. So a value that is too large never wraps to a small one.
constexpr int saturated_int(std::int64_t v) {
  return static_cast<int>(
      std::clamp<std::int64_t>(v, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace argosy
