// The words by which SaveV2 and RestoreV2 name a part of a larger tensor: "10 20 0,5:-" is rows 0 to 5 of a tensor of
// shape [10,20] (tensorflow/core/util/saved_tensor_slice_util.h).
#pragma once

#include <optional>
#include <string_view>

#include "argosy/formats/checkpoint/slice_key.h"
#include "argosy/tensor/shape.h"

namespace argosy::tf {

// A part of a tensor of shape `whole`.
struct PartOf {
  Shape whole;  // of the tensor
  Slice slice;  // of this part
};

// Nothing for the empty string: the whole tensor. INVALID_ARGUMENT names what is wrong with the words.
Result<std::optional<PartOf>> parse_slice_spec(std::string_view spec);

// INVALID_ARGUMENT unless the slice lies in the shape.
Status check_slice(const Slice& slice, const Shape& whole);
// A slice of everything, in as many dimensions.
Slice whole_slice(int rank);

}  // namespace argosy::tf
