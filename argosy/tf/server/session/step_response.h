// Writes RunStepResponse and RunCallableResponse field by field. The elements of large tensors are not copied.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

// Appends one fetched tensor (RunStepResponse.tensor).
Status add_fetch(std::string_view name, const Tensor& value, const TensorWire& wire, WireWriter& to);
// Appends one fetched tensor without a name (RunCallableResponse.fetch).
Status add_fetch(const Tensor& value, const TensorWire& wire, WireWriter& to);
// RESOURCE_EXHAUSTED: the response exceeds the 2 GiB of a protobuf message.
Status check_size(const WireWriter& response);

// Returns a RunStepResponse with an error in it, for clients that ask for it there (store_errors_in_response_body).
std::vector<WirePiece> error_response(const Status& error, std::string_view task);

}  // namespace argosy::tf
