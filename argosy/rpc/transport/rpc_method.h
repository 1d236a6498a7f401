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
  // Reads the request where gRPC received it: the bytes live until the handler returns. Called from several threads at
  // once; it may block. Must not throw.
  std::function<RpcReply(WireReader request, CallContext& context)> handler;
  int waiting = 2;  // calls that gRPC may hand over before a thread asks for the next
};

}  // namespace argosy::tf
