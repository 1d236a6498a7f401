#include "argosy/tf/server/service/session_calls.h"

#include "argosy/formats/proto/master.pb.h"
#include "argosy/tf/server/service/master_method.h"
#include "argosy/tf/server/session/session_devices.h"

namespace argosy::tf {

namespace {

std::vector<std::string> strings(const auto& list) { return {list.begin(), list.end()}; }

}  // namespace

RpcReply extend_session(const SessionTable& sessions, WireReader in, CallContext& context) {
  GraphRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(Method::kExtendSession, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions.find(request.session));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t version, session->extend(request.graph, request.version, context));
  tensorflow::ExtendSessionResponse response;
  response.set_new_graph_version(version);
  return message_reply(response.SerializeAsString());
}

RpcReply set_up_partial_run(const SessionTable& sessions, WireReader in, CallContext& context) {
  tensorflow::PartialRunSetupRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kPartialRunSetup, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions.find(request.session_handle()));
  tensorflow::PartialRunSetupResponse response;
  const StepNames names{strings(request.feed()), strings(request.fetch()), strings(request.target())};
  ARGOSY_ASSIGN_OR_RETURN(*response.mutable_partial_run_handle(),
                          session->set_up_partial_run(names, request.request_id(), context));
  return message_reply(response.SerializeAsString());
}

RpcReply make_callable(const SessionTable& sessions, WireReader in, CallContext& context) {
  tensorflow::MakeCallableRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kMakeCallable, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions.find(request.session_handle()));
  tensorflow::MakeCallableResponse response;
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t handle,
                          session->make_callable(request.options(), request.request_id(), context));
  response.set_handle(handle);
  return message_reply(response.SerializeAsString());
}

RpcReply release_callable(const SessionTable& sessions, WireReader in) {
  tensorflow::ReleaseCallableRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kReleaseCallable, in, request));
  ARGOSY_ASSIGN_OR_RETURN(const auto session, sessions.find(request.session_handle()));
  ARGOSY_RETURN_IF_ERROR(session->release_callable(request.handle()));
  return message_reply("");
}

RpcReply list_devices(const SessionTable& sessions, WireReader in) {
  tensorflow::ListDevicesRequest request;
  ARGOSY_RETURN_IF_ERROR(parse_request(Method::kListDevices, in, request));
  const auto session = sessions.find(request.session_handle());
  if (!session.ok()) return invalid_argument(session.status().message()).with_id("ARG-RPC-003");
  tensorflow::ListDevicesResponse response;
  describe_devices((*session)->devices(), (*session)->other_devices(), response);
  return message_reply(response.SerializeAsString());
}

}  // namespace argosy::tf
