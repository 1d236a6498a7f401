// Variants between tasks, as TensorFlow's VariantTensorDataProto: a list of tensors travels with its elements, from
// whatever memory they are in. Tasks of TensorFlow read and write the same.
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/resource.h"

namespace argosy::tf {

// UNIMPLEMENTED "ARG-SEND-009": not a list of tensors (a dataset, an optional), or lists in lists, 32 levels deep.
Result<std::string> write_variant(const Variant& value);
// UNIMPLEMENTED "ARG-SEND-009" likewise; INVALID_ARGUMENT "ARG-PROTO-001": it is damaged.
Result<Variant> read_variant(std::string_view message);

}  // namespace argosy::tf
