// Copying between a tensor and slices of it. Internal to argosy/formats.
#pragma once

#include "argosy/formats/checkpoint/slice_key.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Both tensors are slices of one larger tensor of shape `whole`: copies what they have in common, and
// says how many elements that is. Plain elements and
// strings. REQUIRES: shapes that fit their slices, one dtype.
std::int64_t copy_common(const Tensor& to, const Slice& to_slice, const Tensor& from, const Slice& from_slice,
                         const Shape& whole);

}  // namespace argosy::tf
