// Tells whether a slice along axis 0 shares memory with its input in TensorFlow: it does if it is aligned. Later
// updates of a reference variable then show in the slice. Private to this folder.
#pragma once

#include "argosy/tensor/dtype.h"
#include "argosy/tensor/shape.h"

namespace argosy {

inline constexpr std::int64_t kAlignedBytes = 64;

// True if each row begins at an aligned address.
inline bool has_aligned_rows(const PartialShape& x, DType dtype) {
  if (!x.is_full() || x.rank() == 0 || x[0] == 0 || dtype == DType::kString) return false;
  return x.elements() / x[0] * static_cast<std::int64_t>(element_bytes(dtype)) % kAlignedBytes == 0;
}

// True if rows [begin, end) begin and end at aligned addresses. For rank 2 and above, TensorFlow requires that of all
// rows.
inline bool are_aligned_rows(const PartialShape& x, DType dtype, std::int64_t begin, std::int64_t end) {
  if (x.rank() != 1) return has_aligned_rows(x, dtype);
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  return x.is_full() && dtype != DType::kString && begin * bytes % kAlignedBytes == 0 &&
         end * bytes % kAlignedBytes == 0;
}

}  // namespace argosy
