// Slice specs: the strings (`shape_and_slices`) by which SaveV2 and RestoreV2 name a slice of a larger tensor.
// "10 20 0,5:-" is rows 0 to 4 of a tensor of shape [10,20] (tensorflow/core/util/saved_tensor_slice_util.h).
#pragma once

#include <optional>
#include <string_view>

#include "argosy/formats/checkpoint/slice_key.h"
#include "argosy/tensor/shape.h"

namespace argosy::tf {

// A slice of a tensor of shape `whole`.
struct PartOf {
  Shape whole;  // of the tensor
  Slice slice;  // of the part
};

// Parses a slice spec. nullopt: the spec is empty, which means the whole tensor. INVALID_ARGUMENT says what is wrong.
Result<std::optional<PartOf>> parse_slice_spec(std::string_view spec);

// INVALID_ARGUMENT unless the slice lies in the shape.
Status check_slice(const Slice& slice, const Shape& whole);
// Returns the slice that is all of a tensor of this rank.
Slice whole_slice(int rank);

}  // namespace argosy::tf
