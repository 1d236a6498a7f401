// Serialised TensorProtos: the format of the ops SerializeTensor and ParseTensor. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// UNIMPLEMENTED for resources and variants.
Result<std::string> serialize_tensor(const Tensor& tensor);
// INVALID_ARGUMENT: the bytes are no TensorProto. RESOURCE_EXHAUSTED: the tensor is larger than `limit_bytes`; nothing
// is allocated then.
Result<Tensor> parse_tensor(std::string_view bytes, std::int64_t limit_bytes);

}  // namespace argosy::tf
