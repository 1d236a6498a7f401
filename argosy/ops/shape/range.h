// The number of elements of a range, for the shape function of Range and its kernel.
#pragma once

#include <concepts>
#include <cstdint>

#include "argosy/base/status.h"

namespace argosy {

Result<std::int64_t> range_size(std::int64_t start, std::int64_t limit, std::int64_t delta);
// `steps`: (limit - start) / delta, computed in the range's dtype, as in TensorFlow. From 0 to 0.3 in steps of 0.1
// there are 3 elements in float32, and 4 in float16.
Result<std::int64_t> range_size(double start, double limit, double delta, double steps);
template <typename T>
requires(!std::integral<T>) Result<std::int64_t> range_size(T start, T limit, T delta) {
  const T distance = limit - start;
  return range_size(static_cast<double>(start), static_cast<double>(limit), static_cast<double>(delta),
                    static_cast<double>(distance / delta));
}

}  // namespace argosy
