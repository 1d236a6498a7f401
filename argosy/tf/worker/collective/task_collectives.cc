#include "argosy/tf/worker/collective/task_collectives.h"

#include <algorithm>
#include <thread>

#include "argosy/comm/keyed/ring_order.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/tf/worker/collective/collective_messages.h"
#include "argosy/tf/worker/collective/step_exchange.h"

namespace argosy::tf {

namespace {

constexpr std::chrono::milliseconds kShortCall{3'000};
constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr std::chrono::milliseconds kLeaderStarts{60'000};  // as long as a session waits for the tasks of its cluster

std::string path(std::string_view method) { return str_cat("/tensorflow.WorkerService/", method); }

// A member of this task that waits at the table of this task.
class OwnJoin final : public RpcClientCall {
 public:
  OwnJoin(GroupTable& groups, std::int32_t group, std::int64_t number)
      : groups_(groups), group_(group), number_(number) {}
  void cancel() override { groups_.cancel_join(group_, number_); }

 private:
  GroupTable& groups_;
  const std::int32_t group_;
  const std::int64_t number_;
};

}  // namespace

TaskCollectives::TaskCollectives(std::shared_ptr<Peers> peers)
    : peers_(std::move(peers)), leader_(*peers_), watch_(peers_) {}

TaskCollectives::~TaskCollectives() = default;

void TaskCollectives::abort(std::int64_t step_id, const Status& cause) {
  (void)pieces_.abort(step_id, derived_status(cause));
  const Status told = pieces_.cause(step_id);
  calls_.end(step_id, told.ok() ? cause : told);
}

void TaskCollectives::stop() {
  const Status why = derived_status(unavailable("the server of ", peers_->own(), " stops"));
  pieces_.abort_all(why);
  groups_.forget_all(why);
  for (const std::int64_t step : calls_.steps()) abort(step, why);
}

// --- members meet ----------------------------------------------------------------------------------------------------

void TaskCollectives::join(const KeyedMember& member, Met met) {
  auto joining = std::make_shared<Joining>();
  joining->member = member;
  joining->device = *member.device;
  joining->member.device = nullptr;  // the step may end before an answer comes
  const StepCalls::Token token = calls_.add(member.step_id, std::move(met));
  joining->token = token;
  if (Status cause = pieces_.cause(member.step_id); !cause.ok()) return calls_.finish(token, std::move(cause));
  find_group(joining);
}

void TaskCollectives::ask_leader(StepCalls::Token token, const char* method, std::vector<WirePiece> request,
                                 const std::function<void(const RpcResponse&)>& done) {
  const auto task = task_of(leader_.name());
  if (!task.ok()) return calls_.finish(token, task.status());
  const auto channel = peers_->channel(*task);
  if (!channel.ok()) return calls_.finish(token, channel.status());
  const auto answered = [self = shared_from_this(), token, task = *task, done](const Result<RpcResponse>& answer) {
    if (!answer.ok()) return self->calls_.finish(token, error_of_call(*self->peers_, answer.status(), task));
    done(*answer);
  };
  calls_.set_call(token, (*channel)->start(path(method), std::move(request), answered));
}

void TaskCollectives::find_group(const std::shared_ptr<Joining>& joining) {
  const KeyedMember& member = joining->member;
  const GroupMemberRequest request{
      .group = member.group, .size = member.size, .device_type = joining->device.name.type, .device = joining->device};
  const auto found = [self = shared_from_this(), joining](Result<std::shared_ptr<const Group>> group) {
    if (!group.ok()) return self->calls_.finish(joining->token, std::move(group).status());
    joining->group = *std::move(group);
    {
      MutexLock lock(self->mutex_);  // known from here on: it is forgotten with a step that fails, however early
      self->groups_of_step_[joining->member.step_id].insert(joining->member.group);
    }
    self->find_source(joining);
  };
  if (leader_.is_own()) {
    const std::int64_t number = groups_.join(request, found);
    calls_.set_call(joining->token, std::make_shared<OwnJoin>(groups_, member.group, number));
    return;
  }
  std::shared_ptr<const Group> known;
  {
    MutexLock lock(mutex_);
    if (const auto at = known_groups_.find(member.group); at != known_groups_.end()) known = at->second;
  }
  if (known != nullptr) {
    Status agrees = check_member(*known, request);
    if (!agrees.ok()) return calls_.finish(joining->token, std::move(agrees));
    return found(known);
  }
  ask_leader(joining->token, "CompleteGroup", write_complete_group(request, member.kind),
             [self = shared_from_this(), found](const RpcResponse& answer) {
               auto group = read_group(answer.reader());
               if (!group.ok()) return found(std::move(group).status());
               auto shared = std::make_shared<const Group>(*std::move(group));
               {
                 MutexLock lock(self->mutex_);
                 self->known_groups_[shared->key] = shared;
               }
               found(std::move(shared));
             });
}

void TaskCollectives::find_source(const std::shared_ptr<Joining>& joining) {
  const KeyedMember& member = joining->member;
  InstanceRequest request{.group = member.group,
                          .instance = member.instance,
                          .kind = member.kind,
                          .dtype = member.dtype,
                          .device = joining->device.name.to_string(),
                          .source = member.source,
                          .ring_offsets = member.ring_offsets};
  const int rank = joining->group->rank_of(request.device);
  if (rank < 0) {
    return calls_.finish(joining->token, internal_error("the leader's group ", member.group, " has no ", request.device)
                                             .with_id("ARG-CLUSTER-112")
                                             .with_hint("give each member of a group a device of its own"));
  }
  joining->places = keyed_group(*joining->group, rank);
  if (member.kind == KeyedMember::kReduction && request.ring_offsets.empty()) {
    auto offsets = ring_offsets(joining->places, member.bytes, member.most_rings);
    if (!offsets.ok()) return calls_.finish(joining->token, std::move(offsets).status());
    request.ring_offsets = *std::move(offsets);
  }
  joining->ring_offsets = request.ring_offsets;
  const auto found = [self = shared_from_this(), joining, request](Result<int> source) {
    if (!source.ok()) return self->calls_.finish(joining->token, std::move(source).status());
    self->start(*joining, *source);
  };
  if (leader_.is_own()) return groups_.join_instance(request, found);
  const auto key = std::pair(request.group, request.instance);
  std::optional<KnownInstance> known;
  {
    MutexLock lock(mutex_);
    if (const auto at = known_instances_.find(key); at != known_instances_.end()) known = at->second;
  }
  if (known) {
    Status agrees = check_instance(known->kind, known->dtype, request);
    if (!agrees.ok()) return calls_.finish(joining->token, std::move(agrees));
    return found(known->source);
  }
  ask_leader(joining->token, "CompleteInstance", write_complete_instance(request, member),
             [self = shared_from_this(), found, key, request](const RpcResponse& answer) {
               auto source = read_instance(answer.reader());
               if (source.ok()) {
                 MutexLock lock(self->mutex_);
                 self->known_instances_[key] = {request.kind, request.dtype, *source};
               }
               found(std::move(source));
             });
}

void TaskCollectives::start(const Joining& joining, int source) {
  const KeyedMember& member = joining.member;
  Membership membership{
      .group = joining.places, .source = source, .ring_offsets = joining.ring_offsets, .exchange = nullptr};
  if (member.kind == KeyedMember::kBroadcast && (source < 0 || source >= membership.group.size())) {
    return calls_.finish(joining.token,
                         internal_error("the leader says that rank ", source, " of ", membership.group.size(), " sends")
                             .with_id("ARG-CLUSTER-113"));
  }
  membership.exchange =
      std::make_shared<StepExchange>(shared_from_this(), member.step_id, joining.group, membership.group.rank);
  watch_.add(member.step_id, *joining.group, member.in_loop,
             [weak = weak_from_this()](std::int64_t step_id, const Status& why) {
               if (const auto self = weak.lock()) self->abort(step_id, why);
             });
  calls_.finish(joining.token, std::move(membership));
}

// --- steps -----------------------------------------------------------------------------------------------------------

Result<std::int64_t> TaskCollectives::begin_step(std::int64_t graph, Cancellation& cancellation) {
  ARGOSY_RETURN_IF_ERROR(numbers_.enter(graph, cancellation));
  auto number = ask_number(graph, cancellation);
  if (!number.ok()) {
    numbers_.leave(graph);
    return number;
  }
  pieces_.begin(*number);
  return number;
}

Result<std::int64_t> TaskCollectives::ask_number(std::int64_t graph, Cancellation& cancellation) {
  if (leader_.is_own()) return numbers_.known_or_new(graph);
  if (const auto known = numbers_.known(graph)) return *known;
  ARGOSY_ASSIGN_OR_RETURN(const TaskName task, task_of(leader_.name()));
  ARGOSY_ASSIGN_OR_RETURN(const auto channel, peers_->channel(task));
  tensorflow::GetStepSequenceRequest request;
  request.add_graph_key(graph);
  const auto until = std::chrono::steady_clock::now() + kLeaderStarts;
  while (true) {
    const auto answer = channel->call(path("GetStepSequence"), message_pieces(request), kShortCall, &cancellation);
    if (answer.ok()) {
      tensorflow::GetStepSequenceResponse response;
      if (!response.ParseFromString(answer->reader().joined()) || response.step_sequence_size() != 1 ||
          response.step_sequence(0).graph_key() != graph) {
        return internal_error(task, ": the answer to GetStepSequence is damaged").with_id("ARG-CLUSTER-114");
      }
      numbers_.learn(graph, response.step_sequence(0).next_step_id());
      return response.step_sequence(0).next_step_id();
    }
    if (cancellation.cancelled()) return cancellation.status();
    const Code code = answer.status().code();
    if (code != Code::kUnavailable && code != Code::kDeadlineExceeded) return answer.status();
    if (std::chrono::steady_clock::now() >= until) return lost_member(task, channel->options().address);
    std::this_thread::sleep_for(kBetweenTries);
  }
}

void TaskCollectives::end_step(std::int64_t graph, std::int64_t step_id, const Status& status) {
  numbers_.retire(graph, step_id, status.ok());
  if (!status.ok()) abort(step_id, status);
  forget(step_id);
  numbers_.leave(graph);
}

void TaskCollectives::forget(std::int64_t step_id) {
  watch_.remove(step_id);
  const Status cause = pieces_.cause(step_id);
  std::set<std::int32_t> groups;
  {
    MutexLock lock(mutex_);
    const auto at = groups_of_step_.find(step_id);
    if (at != groups_of_step_.end()) {
      groups = std::move(at->second);
      groups_of_step_.erase(at);
    }
    if (!cause.ok()) {
      for (const std::int32_t group : groups) {
        known_groups_.erase(group);
        std::erase_if(known_instances_, [&](const auto& known) { return known.first.first == group; });
      }
    } else {
      groups.clear();
    }
  }
  const Status why = aborted("a step of the group has failed: ", cause.message())
                         .with_id("ARG-CLUSTER-115")
                         .with_hint("run the step again");
  for (const std::int32_t group : groups) groups_.forget(group, why);
  pieces_.forget(step_id);
}

}  // namespace argosy::tf
