// Converts tensors and shapes to TensorFlow's TensorProto and TensorShapeProto, and back. Not a public header; it only
// forward-declares the messages.
#pragma once

#include <cstdint>

#include "argosy/base/memory/host_budget.h"
#include "argosy/tensor/tensor.h"

namespace tensorflow {
class TensorProto;
class TensorShapeProto;
}  // namespace tensorflow

namespace argosy::tf {

// UNIMPLEMENTED for resources and variants.
Status to_proto(const Tensor& tensor, tensorflow::TensorProto* proto);
void to_proto(const PartialShape& shape, tensorflow::TensorShapeProto* proto);

// Accepts raw bytes and value lists; a list shorter than the shape repeats its last value, as in TensorFlow.
// RESOURCE_EXHAUSTED before any allocation: the tensor would exceed `limit_bytes`. A tensor that is larger than its
// message counts in the budget of host memory, as `use`, while it lives. RESOURCE_EXHAUSTED (ARG-MEM-004): the budget
// is spent.
Result<Tensor> from_proto(const tensorflow::TensorProto& proto, std::int64_t limit_bytes,
                          HostUse use = HostUse::kBuffers);
Result<PartialShape> from_proto(const tensorflow::TensorShapeProto& proto);

}  // namespace argosy::tf
