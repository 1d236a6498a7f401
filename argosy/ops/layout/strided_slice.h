// Resolves begin, end, strides and the five masks of StridedSlice for an input of given sizes, by the rules of
// TensorFlow and NumPy. The shape function and the kernels share it.
#pragma once

#include <limits>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/ints.h"

namespace argosy {

struct StridedSliceMasks {
  std::int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
  static StridedSliceMasks of(const AttrMap& attrs);
};

// Input axis k contributes sizes[k] elements, from begin[k] on, strides[k] apart. An unknown size is
// PartialShape::kUnknown, and then begin is meaningless.
struct StridedSliceView {
  Ints begin, strides, sizes;
  Ints output_sizes;
};

inline constexpr std::int64_t kUnknownIndex = std::numeric_limits<std::int64_t>::min();

// `input_sizes` may hold PartialShape::kUnknown; begin, end and strides may hold kUnknownIndex.
Result<StridedSliceView> resolve_strided_slice(std::string_view op, std::span<const std::int64_t> input_sizes,
                                               const Ints& begin, const Ints& end, const Ints& strides,
                                               const StridedSliceMasks& masks);

}  // namespace argosy
