#include "argosy/tf/server/service/master_method.h"

namespace argosy::tf {

namespace {

constexpr std::string_view kMethodNames[kNumMethods] = {
    "CreateSession", "ExtendSession", "PartialRunSetup", "RunStep",     "CloseSession",
    "ListDevices",   "Reset",         "MakeCallable",    "RunCallable", "ReleaseCallable"};

}  // namespace

std::string_view method_name(Method method) { return kMethodNames[static_cast<int>(method)]; }

Status damaged_request(Method method) {
  return invalid_argument(method_name(method), ": the request is damaged").with_id("ARG-PROTO-003");
}

Status scan(Method method, WireReader in, GraphRequest& to) {
  const bool creates = method == Method::kCreateSession;
  for (WireField f; in.next(f);) {
    if (f.is_bytes() && f.number == (creates ? 1u : 2u)) {
      to.graph = in.text(f, to.scratch);
    } else if (f.is_bytes() && f.number == (creates ? 2u : 1u)) {
      (creates ? to.config : to.session) = in.text(f, to.scratch);
    } else {
      if (!creates && f.number == 3 && f.is_varint()) to.version = static_cast<std::int64_t>(f.value);
      in.skip(f);
    }
  }
  return in.ok() ? ok_status() : damaged_request(method);
}

std::vector<WirePiece> message_reply(std::string message) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(message);
  return pieces;
}

}  // namespace argosy::tf
