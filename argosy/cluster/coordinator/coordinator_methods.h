// coordinator_methods(): the coordinator's RPC methods, as a table that a GrpcTransport serves. A request without the
// job token is refused before any of it is parsed.
#pragma once

#include <memory>
#include <vector>

#include "argosy/cluster/coordinator/coordinator.h"
#include "argosy/cluster/job_token.h"
#include "argosy/rpc/transport/rpc_method.h"

namespace argosy {

// The methods share ownership of the coordinator.
std::vector<tf::RpcMethod> coordinator_methods(std::shared_ptr<Coordinator> coordinator, const JobToken& token);

}  // namespace argosy
