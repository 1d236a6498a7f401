#include "argosy/tf/server/session/step_response.h"

#include "argosy/base/str.h"
#include "argosy/tf/worker/peers/rpc_error.h"

namespace argosy::tf {

Status add_fetch(std::string_view name, const Tensor& value, const TensorWire& wire, WireWriter& to) {
  ARGOSY_ASSIGN_OR_RETURN(const TensorMessage tensor, TensorMessage::make(value, wire));
  to.begin_bytes(1, WireWriter::field_size(1, name.size()) + WireWriter::field_size(2, tensor.size()));
  to.bytes_field(1, name);
  to.begin_bytes(2, tensor.size());
  tensor.append_to(to);
  return ok_status();
}

Status add_fetch(const Tensor& value, const TensorWire& wire, WireWriter& to) {
  ARGOSY_ASSIGN_OR_RETURN(const TensorMessage tensor, TensorMessage::make(value, wire));
  to.begin_bytes(1, tensor.size());
  tensor.append_to(to);
  return ok_status();
}

Status check_size(const WireWriter& response) {
  if (response.size() < (std::size_t{1} << 31) - 4096) return ok_status();
  return resource_exhausted("the fetched tensors of ", format_bytes(response.size()),
                            " together exceed the 2 GiB of a message")
      .with_hint("fetch them in several runs");
}

std::vector<WirePiece> error_response(const Status& error, std::string_view task) {
  WireWriter response;
  response.varint_field(3, static_cast<std::uint64_t>(error.code()));
  response.bytes_field(4, client_message(error, task));
  return response.take();
}

}  // namespace argosy::tf
