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

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/local_rendezvous.h"

namespace argosy {

// Thread-safe.
class TaskRendezvous final : public Rendezvous, public std::enable_shared_from_this<TaskRendezvous> {
 public:
  // Asks the task that owns key.send_device for the value. It answers once; its errors are derived where the other task
  // failed. It need not end when this object is aborted: the answer is then dropped.
  using Remote = std::function<void(std::int64_t step_id, const RendezvousKey& key, Done done)>;

  // `task`: this one, "/job:ps/replica:0/task:0". Outlives nothing: `remote` is copied.
  TaskRendezvous(std::string task, std::int64_t step_id, Remote remote)
      : task_(std::move(task)), step_id_(step_id), remote_(std::move(remote)) {}

  Status send(const RendezvousKey& key, Tensor value, bool dead) override {
    return local_.send(key, std::move(value), dead);
  }
  void receive(const RendezvousKey& key, Done done) override;
  // What another task asks for.
  void receive_local(const RendezvousKey& key, Done done) { local_.receive(key, std::move(done)); }
  void abort(Status cause) override;
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
class StepRendezvous {
 public:
  StepRendezvous(std::string task, TaskRendezvous::Remote remote)
      : task_(std::move(task)), remote_(std::move(remote)) {}

  // Made where there is none: a value may be asked for before the step starts here. Of a step that was forgotten: one
  // that is aborted, CANCELLED.
  std::shared_ptr<TaskRendezvous> find(std::int64_t step_id);
  // Where there is one.
  void abort(std::int64_t step_id, const Status& cause);
  // Aborts it, CANCELLED, and drops its values. The number is remembered for a while, so that a late receive fails.
  void forget(std::int64_t step_id);
  // Ends all steps with this cause.
  void abort_all(const Status& cause);
  std::size_t size();  // steps under way

 private:
  const std::string task_;
  const TaskRendezvous::Remote remote_;
  Mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<TaskRendezvous>> steps_ ARGOSY_GUARDED_BY(mutex_);
  std::set<std::int64_t> forgotten_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<std::int64_t> forgotten_order_ ARGOSY_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace argosy
