// RecvTensorRequest and RecvTensorResponse of TensorFlow's WorkerService, field by field: a tensor's bytes are lent to
// the transport, and copied once where they arrive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/op/kernel/rendezvous.h"
#include "argosy/rpc/wire/tensor_wire.h"

namespace argosy::tf {

struct RecvTensorRequest {
  std::int64_t step_id = 0;
  std::string key;  // RendezvousKey::to_string()
  std::int64_t request_id = 0;
};

// INVALID_ARGUMENT "ARG-PROTO-003" when damaged.
Result<RecvTensorRequest> read_recv_request(WireReader in);
std::vector<WirePiece> write_recv_request(const RecvTensorRequest& request);

// RESOURCE_EXHAUSTED from 2 GiB on; UNIMPLEMENTED for a dtype that no message can hold.
Result<std::vector<WirePiece>> write_recv_response(const Rendezvous::Received& value);
// `memory`: of the value; null: the host's.
Result<Rendezvous::Received> read_recv_response(WireReader in, Allocator* memory = nullptr);

// Returns the context for tensors between tasks: no resources, variants as lists of tensors (variant_message.h).
// `memory`: allocates read tensors, in host memory; null: host_allocator().
TensorWire task_wire(Allocator* memory = nullptr);

}  // namespace argosy::tf
