// TaskRendezvous: one task's side of one step. Values that this task sends wait here; a receive of another task's value
// asks that task. StepRendezvous finds them by step.
//
//   _Send ──► TaskRendezvous ◄── receive_local ── other tasks' receives (RecvTensor, in-memory channels)
//   _Recv ──► TaskRendezvous ── of this task's value: here; of another's: `remote` ──► that task
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/local_rendezvous.h"

namespace argosy {

// Thread-safe.
class TaskRendezvous final : public Rendezvous, public std::enable_shared_from_this<TaskRendezvous> {
 public:
  // Asks the task that owns key.send_device for the value. It answers once; its errors are derived where the other task
  // failed. It need not end when this object is aborted: the answer is then dropped.
  using Remote = std::function<void(std::int64_t step_id, const RendezvousKey& key, Done done)>;

  // `task`: this one, "/job:ps/replica:0/task:0". The object holds a copy of `remote`.
  TaskRendezvous(std::string task, std::int64_t step_id, Remote remote)
      : task_(std::move(task)), step_id_(step_id), remote_(std::move(remote)) {}

  Status send(const RendezvousKey& key, Tensor value, bool dead) override {
    return local_.send(key, std::move(value), dead);
  }
  void receive(const RendezvousKey& key, Done done) override;
  // A receive of another task. Returns a number for cancel_receive(); 0: `done` was called.
  std::int64_t receive_local(const RendezvousKey& key, Done done) {
    return local_.receive_numbered(key, std::move(done));
  }
  // That task does not wait any more. False: it has been answered.
  bool cancel_receive(const RendezvousKey& key, std::int64_t number) { return local_.cancel_receive(key, number); }
  void abort(Status cause) override;
  std::int64_t step_id() const { return step_id_; }
  // The cause of abort(); OK before.
  Status cause();
  // As LocalRendezvous::end_sends().
  void end_sends() { local_.end_sends(); }

 private:
  const std::string task_;
  const std::int64_t step_id_;
  const Remote remote_;
  LocalRendezvous local_;
  Mutex mutex_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::map<std::int64_t, Done> asked_ ARGOSY_GUARDED_BY(mutex_);  // receives that wait for another task
};

// The steps under way on one task. Thread-safe.
//
// Its memory is bounded, whatever step numbers other tasks send. Above the limits it drops the oldest
// - receives that come before their step;
// - steps that have ended here and that nobody forgets.
class StepRendezvous {
 public:
  static constexpr std::int64_t kEarlyReceives = 32768;  // receives that wait for steps not begun here
  static constexpr std::size_t kBegunSteps = 8192;       // begun steps; beyond it, those without a run are dropped

  StepRendezvous(std::string task, TaskRendezvous::Remote remote)
      : task_(std::move(task)), remote_(std::move(remote)) {}

  // Returns the rendezvous of a step, which begins here if it has not. A step that was forgotten: one that is aborted,
  // CANCELLED.
  std::shared_ptr<TaskRendezvous> find(std::int64_t step_id);
  // A receive of another task, perhaps before the step begins here. Returns a number for cancel_receive(); 0: `done`
  // was called. RESOURCE_EXHAUSTED "ARG-SEND-008": too many later ones wait for steps that have not begun.
  std::int64_t receive(std::int64_t step_id, const RendezvousKey& key, Rendezvous::Done done);
  // That task does not wait any more. A step that has not begun and has no other receives is dropped.
  void cancel_receive(std::int64_t step_id, const RendezvousKey& key, std::int64_t number);
  // Aborts the step, if there is one.
  void abort(std::int64_t step_id, const Status& cause);
  // Aborts it, CANCELLED, and drops its values. The number is remembered for a while, so that a late receive fails.
  void forget(std::int64_t step_id);
  // Ends all steps with this cause.
  void abort_all(const Status& cause);
  std::size_t size();  // steps that have begun, or that are waited for

 private:
  struct Entry {
    std::shared_ptr<TaskRendezvous> step;
    bool begun = false;
    std::int64_t early = 0;  // receives, before it has begun
    std::int64_t place = 0;  // in begun_ or early_
  };
  using Entries = std::map<std::int64_t, Entry>;
  using Steps = std::vector<std::shared_ptr<TaskRendezvous>>;
  Entry& find_or_make(std::int64_t step_id) ARGOSY_REQUIRES(mutex_);
  std::shared_ptr<TaskRendezvous> erase(Entries::iterator at) ARGOSY_REQUIRES(mutex_);
  // Counts one receive less of a step that has not begun.
  void uncount(std::int64_t step_id, const std::shared_ptr<TaskRendezvous>& step);
  // Removes what exceeds a limit, and returns it for the caller to abort.
  Steps drop_early() ARGOSY_REQUIRES(mutex_);
  Steps drop_begun() ARGOSY_REQUIRES(mutex_);

  const std::string task_;
  const TaskRendezvous::Remote remote_;
  Mutex mutex_;
  Entries steps_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<std::int64_t, std::int64_t> begun_ ARGOSY_GUARDED_BY(mutex_);  // place -> step, the oldest first
  std::map<std::int64_t, std::int64_t> early_ ARGOSY_GUARDED_BY(mutex_);  // the same of those that have not begun
  std::int64_t early_receives_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::set<std::int64_t> forgotten_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<std::int64_t> forgotten_order_ ARGOSY_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace argosy
