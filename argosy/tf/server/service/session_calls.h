// The methods that read one small message and ask one session: from request to response message.
#pragma once

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/server/service/session_table.h"

namespace argosy::tf {

// Thread-safe. ABORTED (ARG-RPC-003): no such session; of ListDevices INVALID_ARGUMENT, as TensorFlow has it.
RpcReply extend_session(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply set_up_partial_run(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply make_callable(const SessionTable& sessions, WireReader request, CallContext& context);
RpcReply release_callable(const SessionTable& sessions, WireReader request);
RpcReply list_devices(const SessionTable& sessions, WireReader request);

}  // namespace argosy::tf
