// TaskCollectives: this task's side of collectives between tasks: groups and ranks agreed with the leader, pieces brought
// by RecvBuf, steps' numbers shared. TensorFlow's protocol, so that a group may have members of both kinds.
//
//   kernel ── meet ──► CompleteGroup, CompleteInstance at the leader ──► a PieceExchange for the step
//                                                                          │ send ──► StepPieces ──► RecvBuf of others
//                                                                          └ receive ──► RecvBuf of another task
//
// *Failure.* The first error of a step's collective, whoever's, ends it here: pieces that wait, and those that are asked
// for later, are answered with it, marked as derived. So every member hears of it. Members that wait are asked for
// their status each second. A group whose step failed is forgotten, and is made anew by the next step.
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
#include "argosy/tf/worker/collective/group_table.h"
#include "argosy/tf/worker/collective/member_watch.h"
#include "argosy/tf/worker/collective/step_numbers.h"
#include "argosy/tf/worker/collective/step_pieces.h"
#include "argosy/tf/worker/peers.h"

namespace argosy::tf {

class TaskCollectives final : public KeyedTasks, public std::enable_shared_from_this<TaskCollectives> {
 public:
  explicit TaskCollectives(std::shared_ptr<Peers> peers);
  ~TaskCollectives() override;

  // "/job:worker/replica:0/task:0". At first chief 0, else worker 0, else the first task of the cluster. INVALID_ARGUMENT
  // "ARG-CLUSTER-109": another one was asked for before; or it is no task of the cluster.
  Status set_leader(const std::string& task) ARGOSY_EXCLUDES(mutex_);
  std::string leader() const ARGOSY_EXCLUDES(mutex_);
  std::string asked_leader() const ARGOSY_EXCLUDES(mutex_);  // "": none was asked for

  void meet(const KeyedMember& member, Met met) override ARGOSY_EXCLUDES(mutex_);
  void abort(std::int64_t step_id, const Status& cause) override ARGOSY_EXCLUDES(mutex_);

  // RemoteTasks::begin_keyed(), end_keyed().
  Result<std::int64_t> begin_step(std::int64_t graph, Cancellation& cancellation);
  void end_step(std::int64_t graph, std::int64_t step_id, const Status& status);
  // A step that another task numbers starts here, and has ended.
  void begin(std::int64_t step_id) { pieces_.begin(step_id); }
  void forget(std::int64_t step_id) ARGOSY_EXCLUDES(mutex_);
  void stop() ARGOSY_EXCLUDES(mutex_);

  // What WorkerService's methods take.
  GroupTable& groups() { return groups_; }
  StepNumbers& numbers() { return numbers_; }
  StepPieces& pieces() { return pieces_; }

 private:
  class Exchange;
  friend class Exchange;
  // A member that waits for the others, or calls of RecvBuf: what abort() ends.
  struct Pending {
    std::int64_t step_id = 0;
    Met met;  // null: a call of RecvBuf
    std::shared_ptr<RpcClientCall> call;
  };
  struct KnownInstance {
    int kind = 0;
    DType dtype = DType::kInvalid;
    int source = -1;
  };
  using Token = std::int64_t;
  Token add(Pending pending) ARGOSY_EXCLUDES(mutex_);
  void set_call(Token token, const std::shared_ptr<RpcClientCall>& call) ARGOSY_EXCLUDES(mutex_);
  // True: it was there, and is no more.
  bool take(Token token, Pending* pending) ARGOSY_EXCLUDES(mutex_);
  void finish(Token token, Result<Membership> membership);

  struct Joining {  // a member on its way
    KeyedMember member;
    DeviceSpec device;
    Token token = 0;
    std::shared_ptr<const Group> group;
    int rank = -1;
  };
  void find_group(const std::shared_ptr<Joining>& joining);
  void find_source(const std::shared_ptr<Joining>& joining);
  void start(const Joining& joining, int source);
  // A call to the leader about a member that waits.
  void ask_leader(Token token, const char* method, std::vector<WirePiece> request,
                  const std::function<void(const RpcResponse&)>& done);
  Result<std::int64_t> ask_number(std::int64_t graph, Cancellation& cancellation);
  bool leads() const { return leader() == peers_->own().to_string(); }
  // The error of a call to another task, as it is told here.
  Status from_peer(Status status, const TaskName& task) const;

  const std::shared_ptr<Peers> peers_;
  GroupTable groups_;
  StepNumbers numbers_;
  StepPieces pieces_;
  MemberWatch watch_;
  mutable Mutex mutex_;
  std::string leader_ ARGOSY_GUARDED_BY(mutex_);
  bool asked_for_ ARGOSY_GUARDED_BY(mutex_) = false;
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<Token, Pending> pending_ ARGOSY_GUARDED_BY(mutex_);
  // What the leader has said: groups, and by group and instance who sends.
  std::map<std::int32_t, std::shared_ptr<const Group>> known_groups_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::pair<std::int32_t, std::int32_t>, KnownInstance> known_instances_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::set<std::int32_t>> groups_of_step_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
