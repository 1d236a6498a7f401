#include "argosy/tf/worker/peers/recv_tensor.h"

#include "argosy/tensor/tensor.h"
#include "argosy/tf/worker/peers/variant_message.h"

namespace argosy::tf {

namespace {

Status damaged(std::string_view what) { return invalid_argument(what, " is damaged").with_id("ARG-PROTO-003"); }

}  // namespace

TensorWire task_wire(Allocator* memory) {
  TensorWire wire;
  wire.memory = memory;
  wire.limit_bytes = (std::int64_t{1} << 31) - 1;
  wire.write_variant = write_variant;
  wire.read_variant = read_variant;
  return wire;
}

Result<RecvTensorRequest> read_recv_request(WireReader in) {
  RecvTensorRequest request;
  WireScratch scratch;
  for (WireField f; in.next(f);) {
    if (f.number == 2 && f.is_bytes()) {
      request.key = in.text(f, scratch);
      continue;
    }
    if (f.number == 1 && f.is_varint()) request.step_id = static_cast<std::int64_t>(f.value);
    if (f.number == 7 && f.is_varint()) request.request_id = static_cast<std::int64_t>(f.value);
    in.skip(f);
  }
  if (!in.ok()) return damaged("RecvTensor: the request");
  return request;
}

std::vector<WirePiece> write_recv_request(const RecvTensorRequest& request) {
  WireWriter out;
  out.varint_field(1, static_cast<std::uint64_t>(request.step_id));
  out.bytes_field(2, request.key);
  out.varint_field(7, static_cast<std::uint64_t>(request.request_id));
  return out.take();
}

Result<std::vector<WirePiece>> write_recv_response(const Rendezvous::Received& value) {
  // TensorFlow reads a tensor from every response, an empty one where the value is dead.
  Tensor tensor = value.value;
  if (!tensor.valid()) {
    ARGOSY_ASSIGN_OR_RETURN(tensor, Tensor::allocate(DType::kFloat32, Shape({0}), host_allocator()));
  }
  ARGOSY_ASSIGN_OR_RETURN(const TensorMessage message, TensorMessage::make(tensor, task_wire()));
  WireWriter out;
  out.begin_bytes(1, message.size());
  message.append_to(out);
  out.varint_field(2, value.dead ? 1 : 0);
  return out.take();
}

Result<Rendezvous::Received> read_recv_response(WireReader in, Allocator* memory) {
  Rendezvous::Received value;
  WireReader tensor;
  bool has_tensor = false;
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      tensor = in.message(f);
      has_tensor = true;
      continue;
    }
    if (f.number == 2 && f.is_varint()) value.dead = f.value != 0;
    in.skip(f);
  }
  if (!in.ok()) return damaged("RecvTensor: the response");
  if (value.dead) return value;
  if (!has_tensor) return damaged("RecvTensor: a response without a tensor");
  ARGOSY_ASSIGN_OR_RETURN(value.value, read_tensor(tensor, task_wire(memory)));
  return value;
}

}  // namespace argosy::tf
