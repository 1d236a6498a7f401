// Where TensorFlow's slices along axis 0 share the memory of what they cut: where that is aligned. A reference variable's
// later updates show in such slices. Private to this folder.
#pragma once

#include "argosy/tensor/dtype.h"
#include "argosy/tensor/shape.h"

namespace argosy {

inline constexpr std::int64_t kAlignedBytes = 64;

// Each row begins at an aligned place.
inline bool has_aligned_rows(const PartialShape& x, DType dtype) {
  if (!x.is_full() || x.rank() == 0 || x[0] == 0 || dtype == DType::kString) return false;
  return x.elements() / x[0] * static_cast<std::int64_t>(element_bytes(dtype)) % kAlignedBytes == 0;
}

// Rows [begin, end) of it begin and end at aligned places. Of a matrix, TensorFlow asks for all rows to do so.
inline bool are_aligned_rows(const PartialShape& x, DType dtype, std::int64_t begin, std::int64_t end) {
  if (x.rank() != 1) return has_aligned_rows(x, dtype);
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  return x.is_full() && dtype != DType::kString && begin * bytes % kAlignedBytes == 0 &&
         end * bytes % kAlignedBytes == 0;
}

}  // namespace argosy
