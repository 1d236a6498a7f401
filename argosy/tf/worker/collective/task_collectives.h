// TaskCollectives: this task's side of collectives between tasks: agrees on groups, ranks and step numbers with the
// leader, and moves pieces by RecvBuf. The protocol is TensorFlow's, so a group may have Argosy and TensorFlow members.
//
//   kernel ── join ──► CompleteGroup, CompleteInstance at the leader ──► a PieceExchange for the step
//                                                                          │ send ──► StepPieces ──► RecvBuf of others
//                                                                          └ receive ──► RecvBuf of another task
//
// *Failure.* The first error of a step's collective, whoever's, ends it here: pieces that wait, and those that are
// asked for later, are answered with it, marked as derived. So every member hears of it. Members that wait are asked
// for their status each second. A group whose step failed is forgotten, and is made anew by the next step.
//
// Thread-safe. Calls under way keep it alive.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ops/collective/keyed_tasks.h"
#include "argosy/tf/worker/collective/group_leader.h"
#include "argosy/tf/worker/collective/group_table.h"
#include "argosy/tf/worker/collective/member_watch.h"
#include "argosy/tf/worker/collective/step_calls.h"
#include "argosy/tf/worker/collective/step_numbers.h"
#include "argosy/tf/worker/collective/step_pieces.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class TaskCollectives final : public KeyedTasks, public std::enable_shared_from_this<TaskCollectives> {
 public:
  explicit TaskCollectives(std::shared_ptr<Peers> peers);
  ~TaskCollectives() override;

  void join(const KeyedMember& member, Met met) override ARGOSY_EXCLUDES(mutex_);
  void abort(std::int64_t step_id, const Status& cause) override;

  // RemoteTasks::begin_keyed(), end_keyed().
  Result<std::int64_t> begin_step(std::int64_t graph, Cancellation& cancellation);
  void end_step(std::int64_t graph, std::int64_t step_id, const Status& status);
  // begin() and forget(): a step whose number another task has chosen starts, and has ended, on this task.
  void begin(std::int64_t step_id) { pieces_.begin(step_id); }
  void forget(std::int64_t step_id) ARGOSY_EXCLUDES(mutex_);
  void stop();

  // What WorkerService's methods take.
  GroupLeader& leader() { return leader_; }
  GroupTable& groups() { return groups_; }
  StepNumbers& numbers() { return numbers_; }
  StepPieces& pieces() { return pieces_; }
  // What a StepExchange takes.
  StepCalls& calls() { return calls_; }
  Peers& peers() { return *peers_; }

 private:
  struct KnownInstance {
    int kind = 0;
    DType dtype = DType::kInvalid;
    int source = -1;
  };

  struct Joining {  // a member on its way
    KeyedMember member;
    DeviceSpec device;
    StepCalls::Token token = 0;
    std::shared_ptr<const Group> group;
    KeyedGroup places;  // of the group
    std::vector<int> ring_offsets;
  };
  void find_group(const std::shared_ptr<Joining>& joining);
  void find_source(const std::shared_ptr<Joining>& joining);
  void start(const Joining& joining, int source);
  // A call to the leader about a member that waits.
  void ask_leader(StepCalls::Token token, const char* method, std::vector<WirePiece> request,
                  const std::function<void(const RpcResponse&)>& done);
  Result<std::int64_t> ask_number(std::int64_t graph, Cancellation& cancellation);

  const std::shared_ptr<Peers> peers_;
  GroupLeader leader_;
  GroupTable groups_;
  StepNumbers numbers_;
  StepPieces pieces_;
  StepCalls calls_;
  MemberWatch watch_;
  mutable Mutex mutex_;
  // What the leader has said: groups, and by group and instance who sends.
  std::map<std::int32_t, std::shared_ptr<const Group>> known_groups_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::pair<std::int32_t, std::int32_t>, KnownInstance> known_instances_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::set<std::int32_t>> groups_of_step_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
