#include "argosy/formats/proto/serialized_tensor.h"

#include <limits>

#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/types.pb.h"

namespace argosy::tf {

Result<std::string> serialize_tensor(const Tensor& tensor) {
  tensorflow::TensorProto proto;
  ARGOSY_RETURN_IF_ERROR(to_proto(tensor, &proto));
  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return invalid_argument("a tensor of ", proto.ByteSizeLong(), " bytes is too large for one message (2 GiB)");
  }
  return proto.SerializeAsString();
}

Result<Tensor> parse_tensor(std::string_view bytes, std::int64_t limit_bytes) {
  tensorflow::TensorProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid_argument("Could not parse `serialized` as TensorProto: Could not parse ", bytes.size(),
                            " bytes as TensorProto");
  }
  return from_proto(proto, limit_bytes);
}

}  // namespace argosy::tf
