// Tensors and TensorFlow's TensorProto. Not a public header: the messages are known here by name only.
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
// RESOURCE_EXHAUSTED before any allocation when the tensor would exceed `limit_bytes`. One that is larger than its
// message is counted in the budget of host memory while it lives, as `use`: RESOURCE_EXHAUSTED (ARG-MEM-004) too.
Result<Tensor> from_proto(const tensorflow::TensorProto& proto, std::int64_t limit_bytes,
                          HostUse use = HostUse::kBuffers);
Result<PartialShape> from_proto(const tensorflow::TensorShapeProto& proto);

}  // namespace argosy::tf
