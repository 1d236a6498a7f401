// The methods of TensorFlow's MasterService as a table for a GrpcTransport.
#pragma once

#include <vector>

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/server/service/session_service.h"

namespace argosy::tf {

// Returns the table: "/tensorflow.MasterService/RunStep" and nine others. `service` outlives it.
std::vector<RpcMethod> master_methods(SessionService& service);

}  // namespace argosy::tf
