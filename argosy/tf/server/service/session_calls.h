// The methods of MasterService with a small request to one session. Each parses the request and returns the response.
#pragma once

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/server/service/session_table.h"

namespace argosy::tf {

// Thread-safe. ABORTED (ARG-RPC-003): no such session; from ListDevices INVALID_ARGUMENT, as in TensorFlow.
RpcReply extend_session(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply set_up_partial_run(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply make_callable(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply release_callable(const SessionTable& sessions, WireReader request);
RpcReply list_devices(const SessionTable& sessions, WireReader request);

}  // namespace argosy::tf
