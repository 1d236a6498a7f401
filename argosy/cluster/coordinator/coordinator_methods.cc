#include "argosy/cluster/coordinator/coordinator_methods.h"

#include <algorithm>
#include <exception>

#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

namespace {

using std::chrono::milliseconds;
using tf::CallContext;
using tf::RpcReply;
using tf::WireReader;

constexpr std::size_t kMostBytes = 16 << 20;  // of one request: a key and its value
constexpr milliseconds kJoinWait{1000};       // a call of Join waits so long: the caller asks again
constexpr std::int64_t kLongestMs = 24 * 3'600'000;

milliseconds bounded(std::int64_t ms) { return milliseconds(std::clamp<std::int64_t>(ms, 0, kLongestMs)); }

RpcReply envelope(const Status& status, std::string body) {
  v1::Envelope message;
  if (!status.ok()) to_message(status, *message.mutable_error());
  message.set_body(std::move(body));
  std::vector<tf::WirePiece> pieces(1);
  pieces[0].bytes = message.SerializeAsString();
  return pieces;
}

// The common part of all methods. `serve` fills the response.
template <typename Request, typename Response>
tf::RpcMethod method(const char* name, const std::shared_ptr<Coordinator>& coordinator, const JobToken& token,
                     bool waits, std::function<Status(Coordinator&, const Request&, Cancellation&, Response&)> serve) {
  const auto handler = [coordinator, token, waits, serve = std::move(serve)](WireReader request,
                                                                             CallContext& context) -> RpcReply {
    char presented[JobToken::kBytes];
    if (!request.copy(sizeof presented, presented) || !token.equals({presented, sizeof presented})) {
      coordinator->count_refused("a process with another job token");
      return permission_denied("the job token is another one").with_id("ARG-CLUSTER-034");
    }
    if (request.remaining() > kMostBytes) {
      return envelope(resource_exhausted("a request of ", request.remaining(), " bytes; at most ", kMostBytes)
                          .with_id("ARG-CLUSTER-046"),
                      {});
    }
    Request message;
    if (!message.ParseFromString(request.joined())) {
      return envelope(data_loss("a damaged request").with_id("ARG-CLUSTER-046"), {});
    }
    try {
      if (waits) context.expect_duration(-1);
    } catch (const std::exception& error) {
      return envelope(resource_exhausted("no thread for a call that waits: ", error.what()), {});
    }
    Response response;
    const Status status = serve(*coordinator, message, context.cancellation(), response);
    return envelope(status, response.SerializeAsString());
  };
  return {.path = str_cat(kCoordinatorPath, name), .handler = handler, .waiting = 4};
}

Status serve_join(Coordinator& coordinator, const v1::JoinRequest& request, Cancellation& gone,
                  v1::JoinResponse& response) {
  ARGOSY_ASSIGN_OR_RETURN(const bool ready, coordinator.join(from_message(request), gone, kJoinWait));
  response.set_ready(ready);
  response.set_coordinator(coordinator.incarnation());
  if (!ready) return response.set_waiting(coordinator.waiting()), ok_status();
  for (const JobTask& task : coordinator.tasks()) to_message(task, *response.add_tasks());
  return ok_status();
}

Status serve_get(Coordinator& coordinator, const v1::GetRequest& request, Cancellation& gone,
                 v1::GetResponse& response) {
  ARGOSY_ASSIGN_OR_RETURN(*response.mutable_value(), coordinator.get(from_message(request.sender()), request.key(),
                                                                     bounded(request.timeout_ms()), gone));
  return ok_status();
}

}  // namespace

std::vector<tf::RpcMethod> coordinator_methods(std::shared_ptr<Coordinator> c, const JobToken& token) {
  using v1::Nothing;
  return {
      method<v1::JoinRequest, v1::JoinResponse>("Join", c, token, true, serve_join),
      method<v1::PulseRequest, Nothing>("Pulse", c, token, false,
                                        [](Coordinator& it, const v1::PulseRequest& r, Cancellation&, Nothing&) {
                                          return it.pulse(from_message(r.sender()), r.step(), r.doing(), r.waits());
                                        }),
      method<v1::WatchRequest, Nothing>("Watch", c, token, true,
                                        [](Coordinator& it, const v1::WatchRequest& r, Cancellation& gone, Nothing&) {
                                          return it.watch(from_message(r.sender()), gone);
                                        }),
      method<v1::PutRequest, Nothing>("Put", c, token, false,
                                      [](Coordinator& it, const v1::PutRequest& r, Cancellation&, Nothing&) {
                                        return it.put(from_message(r.sender()), r.key(), r.value());
                                      }),
      method<v1::GetRequest, v1::GetResponse>("Get", c, token, true, serve_get),
      method<v1::BarrierRequest, Nothing>(
          "Barrier", c, token, true,
          [](Coordinator& it, const v1::BarrierRequest& r, Cancellation& gone, Nothing&) {
            return it.barrier(from_message(r.sender()), r.name(), bounded(r.timeout_ms()), gone);
          }),
      method<v1::FailRequest, v1::FailResponse>(
          "Fail", c, token, true,
          [](Coordinator& it, const v1::FailRequest& r, Cancellation&, v1::FailResponse& response) {
            Status cause = from_message(r.cause());
            if (cause.ok()) cause = internal_error("a task failed without a cause");
            to_message(it.fail(from_message(r.sender()), cause), *response.mutable_first());
            return ok_status();
          }),
      method<v1::LeaveRequest, Nothing>("Leave", c, token, false,
                                        [](Coordinator& it, const v1::LeaveRequest& r, Cancellation&, Nothing&) {
                                          return it.leave(from_message(r.sender()), r.knows_cause());
                                        }),
      method<v1::StatusRequest, v1::StatusResponse>(
          "Status", c, token, false,
          [](Coordinator& it, const v1::StatusRequest&, Cancellation&, v1::StatusResponse& response) {
            to_message(it, response);
            return ok_status();
          }),
  };
}

}  // namespace argosy
