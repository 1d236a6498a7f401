// The view that the inputs of StridedSlice and related ops describe, read when a kernel runs.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/layout/strided_slice.h"

namespace argosy {

// Reads begin, end and strides, vectors in inputs first, first + 1 and first + 2.
Result<StridedSliceView> read_strided_view(KernelContext& c, std::string_view op, const StridedSliceMasks& masks,
                                           std::span<const std::int64_t> sizes, int first);
// Returns the offset of the view in a tensor of these strides, and replaces the strides by the view's.
std::int64_t place_view(const StridedSliceView& view, Ints& strides);

}  // namespace argosy
