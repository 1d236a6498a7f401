// The view that the inputs of StridedSlice and its kin describe, read while a kernel runs.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/layout/strided_slice.h"

namespace argosy {

// begin, end and strides are inputs first, first + 1 and first + 2: vectors.
Result<StridedSliceView> read_strided_view(KernelContext& c, std::string_view op, const StridedSliceMasks& masks,
                                           std::span<const std::int64_t> sizes, int first);
// Where the view starts in a tensor of the given strides, which become those between its elements.
std::int64_t place_view(const StridedSliceView& view, Ints& strides);

}  // namespace argosy
