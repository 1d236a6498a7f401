// Copying between a tensor and slices of it. Internal to argosy/formats.
#pragma once

#include "argosy/formats/checkpoint/slice_key.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Copies the elements that two slices of a tensor of shape `whole` have in common. `from` and `to` hold the slices.
// Returns the number of copied elements. REQUIRES: plain or string elements, one dtype, shapes equal to the slices'.
std::int64_t copy_common(const Tensor& to, const Slice& to_slice, const Tensor& from, const Slice& from_slice,
                         const Shape& whole);

}  // namespace argosy::tf
