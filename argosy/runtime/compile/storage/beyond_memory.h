// Sizes of tensors from 4 TiB on. They would overflow the sums of a memory plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "argosy/tensor/dtype.h"

namespace argosy {

// In bytes. A tensor of so many has no place in an arena. It is allocated when it is written, which fails then.
inline constexpr std::int64_t kBeyondMemory = std::int64_t{1} << 42;

// The bytes of so many elements, at most kBeyondMemory.
inline std::size_t bounded_bytes(std::int64_t elements, DType dtype) {
  const auto each = static_cast<std::int64_t>(element_bytes(dtype));
  return static_cast<std::size_t>(std::min(elements, kBeyondMemory / std::max<std::int64_t>(each, 1)) * each);
}

}  // namespace argosy
