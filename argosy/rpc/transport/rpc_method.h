// RpcMethod: one row of the table that a GrpcTransport serves: a path and its handler.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/rpc/transport/call_context.h"
#include "argosy/rpc/wire/wire_reader.h"

namespace argosy::tf {

// The response message in pieces, or the error of the call.
using RpcReply = Result<std::vector<WirePiece>>;

struct RpcMethod {
  std::string path;  // "/tensorflow.MasterService/RunStep"
  // Serves a call. The request's bytes are those that gRPC received; they live until the handler returns. Called from
  // several threads at once. It may block; it must not throw.
  std::function<RpcReply(WireReader request, CallContext& context)> handler;
  int waiting = 2;  // how many calls of the method are asked for at gRPC in advance
};

}  // namespace argosy::tf
