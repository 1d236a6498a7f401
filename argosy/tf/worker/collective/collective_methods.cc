#include "argosy/tf/worker/collective/collective_methods.h"

#include "argosy/base/guard.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/tf/worker/collective/collective_messages.h"
#include "argosy/tf/worker/collective/recv_buf.h"
#include "argosy/tf/worker/peers/rpc_error.h"

namespace argosy::tf {

namespace {

constexpr int kWaitingCalls = 16;  // that may arrive at once

const RpcReply& dropped() {
  static const RpcReply reply = std::vector<WirePiece>();
  return reply;
}

// Runs `cancel` when the caller does not wait any more.
void on_cancelled(DeferredReply& call, const std::function<void()>& cancel) {
  Cancellation::Token token = 0;
  if (!call.cancellation().add(cancel, &token)) cancel();
}

RpcReply complete_group(const std::shared_ptr<TaskCollectives>& collectives, const WireReader& in,
                        CallContext& context) {
  ARGOSY_ASSIGN_OR_RETURN(const GroupMemberRequest request, read_complete_group(in));
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeferredReply> call, keep_until_cancelled(context));
  const std::int64_t number =
      collectives->groups().join(request, [call](const Result<std::shared_ptr<const Group>>& group) {
        if (!group.ok()) return call->answer(group.status());
        call->answer(write_group(**group));
      });
  on_cancelled(*call, [weak = std::weak_ptr<TaskCollectives>(collectives), key = request.group, number] {
    if (const auto open = weak.lock()) open->groups().cancel_join(key, number);
  });
  return dropped();
}

RpcReply complete_instance(TaskCollectives& collectives, const WireReader& in, CallContext& context) {
  ARGOSY_ASSIGN_OR_RETURN(const InstanceRequest request, read_complete_instance(in));
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeferredReply> call, keep_until_cancelled(context));
  collectives.groups().join_instance(request, [call, instance = request.instance](const Result<int>& source) {
    if (!source.ok()) return call->answer(source.status());
    call->answer(write_instance(instance, *source));
  });
  return dropped();
}

RpcReply step_sequence(TaskCollectives& collectives, const WireReader& in) {
  tensorflow::GetStepSequenceRequest request;
  if (!request.ParseFromString(in.joined())) {
    return invalid_argument("GetStepSequence: the request is damaged").with_id("ARG-PROTO-003");
  }
  tensorflow::GetStepSequenceResponse response;
  for (const std::int64_t key : request.graph_key()) {
    tensorflow::StepSequence& sequence = *response.add_step_sequence();
    sequence.set_graph_key(key);
    sequence.set_next_step_id(collectives.numbers().known_or_new(key));
  }
  return message_pieces(response);
}

// An error of this task's step is derived where another one hears of it. It is marked before the text names the task.
Status told_to_others(const Status& status, const std::string& task) {
  const Status plain = without_derived_mark(status);
  return derived_status(Status(plain.code(), client_message(plain, task)).with_id(std::string(plain.id())));
}

RpcReply recv_buf(const std::shared_ptr<TaskCollectives>& collectives, const std::string& task, const WireReader& in,
                  CallContext& context,
                  const std::function<Status(const std::string& device, std::uint64_t incarnation)>& check_sender) {
  ARGOSY_ASSIGN_OR_RETURN(const RecvBufRequest request, read_recv_buf(in));
  ARGOSY_RETURN_IF_ERROR(check_sender(request.source, request.source_incarnation));
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeferredReply> call, keep_until_cancelled(context));
  const std::int64_t number = collectives->pieces().take(
      request.step_id, request.key, [call, task](const Result<std::span<const std::byte>>& bytes) {
        if (!bytes.ok()) return call->answer(told_to_others(bytes.status(), task));
        call->answer(guarded([&]() -> RpcReply { return write_recv_buf_response(*bytes); }));
      });
  on_cancelled(*call, [weak = std::weak_ptr<TaskCollectives>(collectives), step = request.step_id, number] {
    if (const auto open = weak.lock()) open->pieces().cancel_receive(step, number);
  });
  return dropped();
}

}  // namespace

std::vector<RpcMethod> collective_methods(
    const std::shared_ptr<TaskCollectives>& collectives, const std::string& task,
    const std::function<Status(const std::string& device, std::uint64_t incarnation)>& check_sender) {
  std::vector<RpcMethod> methods;
  const auto add = [&](std::string_view name, std::function<RpcReply(const WireReader&, CallContext&)> handler) {
    methods.push_back({str_cat("/tensorflow.WorkerService/", name),
                       [handler = std::move(handler)](WireReader in, CallContext& context) {
                         return guarded([&] { return handler(in, context); });
                       },
                       kWaitingCalls});
  };
  add("CompleteGroup",
      [collectives](const WireReader& in, CallContext& c) { return complete_group(collectives, in, c); });
  add("CompleteInstance",
      [collectives](const WireReader& in, CallContext& c) { return complete_instance(*collectives, in, c); });
  add("GetStepSequence", [collectives](const WireReader& in, CallContext&) { return step_sequence(*collectives, in); });
  add("RecvBuf", [collectives, task, check_sender](const WireReader& in, CallContext& c) {
    return recv_buf(collectives, task, in, c, check_sender);
  });
  return methods;
}

}  // namespace argosy::tf
