#include "argosy/formats/proto/serialized_handle.h"

#include <limits>

#include "argosy/formats/proto/types.pb.h"

namespace argosy::tf {

std::string serialize_handle(const NamedHandle& handle) {
  tensorflow::ResourceHandleProto proto;
  proto.set_device(handle.device);
  proto.set_container(handle.container);
  proto.set_name(handle.name);
  return proto.SerializeAsString();
}

Result<NamedHandle> parse_handle(std::string_view bytes) {
  tensorflow::ResourceHandleProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid_argument("Could not parse string_handle as a valid ResourceHandle");
  }
  return NamedHandle{proto.device(), proto.container(), proto.name()};
}

}  // namespace argosy::tf
