// The methods of TensorFlow's MasterService, and helpers to read their requests and write their responses.
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

// Returns the error for a request that cannot be parsed: INVALID_ARGUMENT (ARG-PROTO-003).
Status damaged_request(Method method);

// Parses a small request.
template <typename Message>
Status parse_request(Method method, const WireReader& request, Message& to) {
  return to.ParseFromString(request.joined()) ? ok_status() : damaged_request(method);
}

// The fields of a CreateSessionRequest or ExtendSessionRequest, as views: into gRPC's memory, or into `scratch`, where
// a graph in several pieces is joined.
struct GraphRequest {
  std::string_view session;  // of ExtendSession
  std::string_view config;   // of CreateSession: a serialised ConfigProto
  std::string_view graph;    // a serialised GraphDef
  std::int64_t version = 0;  // of ExtendSession: the current version of the graph, as the client knows it
  WireScratch scratch;
};
Status scan(Method method, WireReader in, GraphRequest& to);

// Returns a serialised message as a response.
std::vector<WirePiece> message_reply(std::string message);

}  // namespace argosy::tf
