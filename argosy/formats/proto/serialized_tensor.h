// Tensors as the bytes of a TensorProto: what SerializeTensor writes and ParseTensor reads. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// UNIMPLEMENTED for resources and variants.
Result<std::string> serialize_tensor(const Tensor& tensor);
// INVALID_ARGUMENT for bytes that are none; RESOURCE_EXHAUSTED before any allocation above `limit_bytes`.
Result<Tensor> parse_tensor(std::string_view bytes, std::int64_t limit_bytes);

}  // namespace argosy::tf
