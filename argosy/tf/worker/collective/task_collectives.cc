#include "argosy/tf/worker/collective/task_collectives.h"

#include <algorithm>
#include <thread>

#include "argosy/base/system/random_source.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/tf/worker/collective/collective_messages.h"
#include "argosy/tf/worker/collective/recv_buf.h"

namespace argosy::tf {

namespace {

constexpr std::chrono::milliseconds kShortCall{3'000};
constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr std::chrono::milliseconds kLeaderStarts{60'000};  // as long as a session waits for the tasks of its cluster

std::string path(std::string_view method) { return str_cat("/tensorflow.WorkerService/", method); }

std::string default_leader(const ClusterSpec& cluster) {
  for (const char* const job : {"chief", "worker"}) {
    if (cluster.address({job, 0}) != nullptr) return TaskName{job, 0}.to_string();
  }
  const std::vector<TaskName> tasks = cluster.tasks();
  return tasks.empty() ? std::string() : tasks[0].to_string();
}

TaskName task_of_member(const DeviceSpec& member) { return {member.name.job, member.name.task.value_or(0)}; }

}  // namespace

// --- pieces of a step ------------------------------------------------------------------------------------------------

class TaskCollectives::Exchange final : public PieceExchange {
 public:
  Exchange(std::shared_ptr<TaskCollectives> owner, std::int64_t step_id, std::shared_ptr<const Group> group, int rank)
      : owner_(std::move(owner)), step_id_(step_id), group_(std::move(group)), rank_(rank) {}

  void send(const std::string& key, std::span<const std::byte> bytes, Done done) override {
    owner_->pieces_.offer(step_id_, key, bytes, std::move(done));
  }

  void receive(int from, const std::string& key, std::span<std::byte> to, Done done) override {
    const DeviceSpec& sender = group_->members[static_cast<std::size_t>(from)];
    const TaskName task = task_of_member(sender);
    if (task == owner_->peers_->own()) return receive_here(key, to, std::move(done));
    if (Status cause = owner_->pieces_.cause(step_id_); !cause.ok()) return done(std::move(cause));
    const auto channel = owner_->peers_->channel(task);
    if (!channel.ok()) return done(channel.status());
    const DeviceSpec& own = group_->members[static_cast<std::size_t>(rank_)];
    const RecvBufRequest request{.step_id = step_id_,
                                 .key = key,
                                 .num_bytes = static_cast<std::int64_t>(to.size()),
                                 .source = sender.name.to_string(),
                                 .destination = own.name.to_string(),
                                 .request_id = static_cast<std::int64_t>(system_random_source().next() >> 1 | 1),
                                 .source_incarnation = sender.incarnation};
    const Token token = owner_->add({.step_id = step_id_, .met = nullptr, .call = nullptr});
    const auto call = (*channel)->start(
        path("RecvBuf"), write_recv_buf(request),
        [owner = owner_, step = step_id_, task, token, to, done = std::move(done)](const Result<RpcResponse>& answer) {
          (void)owner->take(token, nullptr);
          if (answer.ok()) return done(read_recv_buf_response(answer->reader(), to));
          Status cause = owner->pieces_.cause(step);
          done(cause.ok() ? owner->from_peer(answer.status(), task) : std::move(cause));
        });
    owner_->set_call(token, call);
    if (!owner_->pieces_.cause(step_id_).ok()) call->cancel();
  }

  void abort(const Status& cause) override { owner_->abort(step_id_, cause); }

 private:
  void receive_here(const std::string& key, std::span<std::byte> to, Done done) {
    (void)owner_->pieces_.take(step_id_, key, [to, done = std::move(done)](Result<std::span<const std::byte>> bytes) {
      if (!bytes.ok()) return done(std::move(bytes).status());
      if (bytes->size() != to.size()) return done(other_piece_size(bytes->size(), to.size()));
      std::ranges::copy(*bytes, to.begin());
      done(ok_status());
    });
  }

  const std::shared_ptr<TaskCollectives> owner_;
  const std::int64_t step_id_;
  const std::shared_ptr<const Group> group_;
  const int rank_;
};

// --- what waits ------------------------------------------------------------------------------------------------------

TaskCollectives::TaskCollectives(std::shared_ptr<Peers> peers)
    : peers_(std::move(peers)), watch_(peers_), leader_(default_leader(peers_->cluster())) {}

TaskCollectives::~TaskCollectives() = default;

TaskCollectives::Token TaskCollectives::add(Pending pending) {
  MutexLock lock(mutex_);
  const Token token = next_++;
  pending_.emplace(token, std::move(pending));
  return token;
}

void TaskCollectives::set_call(Token token, const std::shared_ptr<RpcClientCall>& call) {
  {
    MutexLock lock(mutex_);
    const auto at = pending_.find(token);
    if (at != pending_.end()) {
      at->second.call = call;
      return;
    }
  }
  call->cancel();  // its step was aborted meanwhile, or it has ended
}

bool TaskCollectives::take(Token token, Pending* pending) {
  MutexLock lock(mutex_);
  const auto at = pending_.find(token);
  if (at == pending_.end()) return false;
  if (pending != nullptr) *pending = std::move(at->second);
  pending_.erase(at);
  return true;
}

void TaskCollectives::finish(Token token, Result<Membership> membership) {
  Pending pending;
  if (!take(token, &pending)) return;
  pending.met(std::move(membership));
}

void TaskCollectives::abort(std::int64_t step_id, const Status& cause) {
  (void)pieces_.abort(step_id, derived_status(cause));
  const Status told = pieces_.cause(step_id);
  std::vector<Token> membership;
  std::vector<std::shared_ptr<RpcClientCall>> calls;
  {
    MutexLock lock(mutex_);
    for (const auto& [token, pending] : pending_) {
      if (pending.step_id != step_id) continue;
      if (pending.met != nullptr) membership.push_back(token);
      if (pending.call != nullptr) calls.push_back(pending.call);
    }
  }
  for (const auto& call : calls) call->cancel();
  for (const Token token : membership) finish(token, told.ok() ? cause : told);
}

void TaskCollectives::stop() {
  const Status why = derived_status(unavailable("the server of ", peers_->own(), " stops"));
  pieces_.abort_all(why);
  groups_.forget_all(why);
  std::vector<std::int64_t> steps;
  {
    MutexLock lock(mutex_);
    for (const auto& [token, pending] : pending_) steps.push_back(pending.step_id);
  }
  for (const std::int64_t step : steps) abort(step, why);
}

Status TaskCollectives::from_peer(Status status, const TaskName& task) const {
  if (is_derived(status) || status.code() != Code::kUnavailable) return status;
  const std::string* const address = peers_->cluster().address(task);
  return lost_member(task, address == nullptr ? "?" : *address);
}

// --- members meet ----------------------------------------------------------------------------------------------------

Status TaskCollectives::set_leader(const std::string& task) {
  ARGOSY_ASSIGN_OR_RETURN(const TaskName name, task_of(task));
  const std::string wanted = name.to_string();
  MutexLock lock(mutex_);
  if (peers_->cluster().address(name) == nullptr) {
    return invalid_argument("collective_group_leader is ", wanted,
                            ", which is no task of the cluster: ", str_join(peers_->cluster().tasks()))
        .with_id("ARG-CLUSTER-109")
        .with_hint("name a task of the cluster in ConfigProto.experimental.collective_group_leader");
  }
  if (asked_for_ && leader_ != wanted) {
    return invalid_argument("collective_group_leader is ", wanted, "; an earlier session of ", peers_->own(), " named ",
                            leader_)
        .with_id("ARG-CLUSTER-111")
        .with_hint("name the same task in every session, or start the tasks again");
  }
  leader_ = wanted;
  asked_for_ = true;
  return ok_status();
}

std::string TaskCollectives::leader() const {
  MutexLock lock(mutex_);
  return leader_;
}

std::string TaskCollectives::asked_leader() const {
  MutexLock lock(mutex_);
  return asked_for_ ? leader_ : std::string();
}

void TaskCollectives::meet(const KeyedMember& member, Met met) {
  auto joining = std::make_shared<Joining>();
  joining->member = member;
  joining->device = *member.device;
  joining->member.device = nullptr;  // the step may end before an answer comes
  const Token token = add({.step_id = member.step_id, .met = std::move(met), .call = nullptr});
  joining->token = token;
  if (Status cause = pieces_.cause(member.step_id); !cause.ok()) return finish(token, std::move(cause));
  find_group(joining);
}

void TaskCollectives::ask_leader(Token token, const char* method, std::vector<WirePiece> request,
                                 const std::function<void(const RpcResponse&)>& done) {
  const auto task = task_of(leader());
  if (!task.ok()) return finish(token, task.status());
  const auto channel = peers_->channel(*task);
  if (!channel.ok()) return finish(token, channel.status());
  const auto answered = [self = shared_from_this(), token, task = *task, done](const Result<RpcResponse>& answer) {
    if (!answer.ok()) return self->finish(token, self->from_peer(answer.status(), task));
    done(*answer);
  };
  set_call(token, (*channel)->start(path(method), std::move(request), answered));
}

void TaskCollectives::find_group(const std::shared_ptr<Joining>& joining) {
  const KeyedMember& member = joining->member;
  const GroupMemberRequest request{.name = member.name,
                                   .group = member.group,
                                   .size = member.size,
                                   .device_type = joining->device.name.type,
                                   .device = joining->device};
  const auto found = [self = shared_from_this(), joining](Result<std::shared_ptr<const Group>> group) {
    if (!group.ok()) return self->finish(joining->token, std::move(group).status());
    joining->group = *std::move(group);
    self->find_source(joining);
  };
  if (leads()) return groups_.join(request, found);
  std::shared_ptr<const Group> known;
  {
    MutexLock lock(mutex_);
    if (const auto at = known_groups_.find(member.group); at != known_groups_.end()) known = at->second;
  }
  if (known != nullptr) {
    Status agrees = check_member(*known, request);
    if (!agrees.ok()) return finish(joining->token, std::move(agrees));
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
  const InstanceRequest request{.group = member.group,
                                .instance = member.instance,
                                .kind = member.kind,
                                .dtype = member.dtype,
                                .device = joining->device.name.to_string(),
                                .source = member.source};
  joining->rank = joining->group->rank_of(request.device);
  if (joining->rank < 0) {
    return finish(joining->token, internal_error("the leader's group ", member.group, " has no ", request.device)
                                      .with_id("ARG-CLUSTER-112")
                                      .with_hint("give each member of a group a device of its own"));
  }
  const auto found = [self = shared_from_this(), joining, request](Result<int> source) {
    if (!source.ok()) return self->finish(joining->token, std::move(source).status());
    self->start(*joining, *source);
  };
  if (leads()) return groups_.join_instance(request, found);
  const auto key = std::pair(request.group, request.instance);
  std::optional<KnownInstance> known;
  {
    MutexLock lock(mutex_);
    if (const auto at = known_instances_.find(key); at != known_instances_.end()) known = at->second;
  }
  if (known) {
    Status agrees = check_instance(known->kind, known->dtype, request);
    if (!agrees.ok()) return finish(joining->token, std::move(agrees));
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
  Membership membership{.group = {.task_of = {}, .rank = joining.rank}, .source = source, .exchange = nullptr};
  std::map<TaskName, int> tasks;
  for (const DeviceSpec& device : joining.group->members) {
    membership.group.task_of.push_back(
        tasks.try_emplace(task_of_member(device), static_cast<int>(tasks.size())).first->second);
  }
  if (member.kind == KeyedMember::kBroadcast && (source < 0 || source >= membership.group.size())) {
    return finish(joining.token,
                  internal_error("the leader says that rank ", source, " of ", membership.group.size(), " sends")
                      .with_id("ARG-CLUSTER-113"));
  }
  membership.exchange = std::make_shared<Exchange>(shared_from_this(), member.step_id, joining.group, joining.rank);
  watch_.add(member.step_id, *joining.group, member.in_loop,
             [weak = weak_from_this()](std::int64_t step_id, const Status& why) {
               if (const auto self = weak.lock()) self->abort(step_id, why);
             });
  {
    MutexLock lock(mutex_);
    groups_of_step_[member.step_id].insert(member.group);
  }
  finish(joining.token, std::move(membership));
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
  if (leads()) return numbers_.known_or_new(graph);
  if (const auto known = numbers_.known(graph)) return *known;
  ARGOSY_ASSIGN_OR_RETURN(const TaskName task, task_of(leader()));
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
  std::set<std::int32_t> groups;
  {
    MutexLock lock(mutex_);
    const auto at = groups_of_step_.find(step_id);
    if (at != groups_of_step_.end()) {
      groups = std::move(at->second);
      groups_of_step_.erase(at);
    }
    if (!pieces_.cause(step_id).ok()) {
      for (const std::int32_t group : groups) {
        known_groups_.erase(group);
        std::erase_if(known_instances_, [&](const auto& known) { return known.first.first == group; });
      }
    } else {
      groups.clear();
    }
  }
  const Status why =
      aborted("a step of the group has failed").with_id("ARG-CLUSTER-115").with_hint("run the step again");
  for (const std::int32_t group : groups) groups_.forget(group, why);
  pieces_.forget(step_id);
}

}  // namespace argosy::tf
