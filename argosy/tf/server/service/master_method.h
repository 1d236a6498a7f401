// The methods of TensorFlow's MasterService, and how their messages are read and answered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

enum class Method {
  kCreateSession,
  kExtendSession,
  kPartialRunSetup,
  kRunStep,
  kCloseSession,
  kListDevices,
  kReset,
  kMakeCallable,
  kRunCallable,
  kReleaseCallable,
};
inline constexpr int kNumMethods = 10;
std::string_view method_name(Method method);  // "CreateSession"

// INVALID_ARGUMENT (ARG-PROTO-003).
Status damaged_request(Method method);

// Parses a small request.
template <typename Message>
Status parse_request(Method method, const WireReader& request, Message& to) {
  return to.ParseFromString(request.joined()) ? ok_status() : damaged_request(method);
}

// CreateSessionRequest and ExtendSessionRequest. The graph stays where gRPC received it, or is joined in `scratch`.
struct GraphRequest {
  std::string_view session;  // of ExtendSession
  std::string_view config;   // of CreateSession: a serialised ConfigProto
  std::string_view graph;    // a serialised GraphDef
  std::int64_t version = 0;  // of ExtendSession: the graph's version that is extended
  WireScratch scratch;
};
Status scan(Method method, WireReader in, GraphRequest& to);

// A serialised message as a response.
std::vector<WirePiece> message_reply(std::string message);

}  // namespace argosy::tf
