// Integers from outside as int.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace argosy {

// The nearest int: a number out of its range stays out of any range that is asked for, and never becomes a small one.
constexpr int saturated_int(std::int64_t v) {
  return static_cast<int>(
      std::clamp<std::int64_t>(v, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace argosy
