// Variants between tasks, as TensorFlow's VariantTensorDataProto. A list of tensors travels with its elements, from
// whatever memory they are in, and an optional with its components. Tasks of TensorFlow read and write the same.
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/resource.h"

namespace argosy::tf {

// UNIMPLEMENTED "ARG-SEND-009": another variant (a dataset), or more than 32 variants in each other.
Result<std::string> write_variant(const Variant& value);
// UNIMPLEMENTED "ARG-SEND-009" likewise; INVALID_ARGUMENT "ARG-PROTO-001": it is damaged.
Result<Variant> read_variant(std::string_view message);

}  // namespace argosy::tf
