#include "argosy/runtime/tasks/remote_run.h"

#include <utility>

#include "argosy/base/guard.h"
#include "argosy/op/kernel/derived_status.h"

namespace argosy {

void RemoteRun::start(std::size_t part, TaskRun run) {
  {
    MutexLock lock(mutex_);
    started_[part] = 1;
    ++running_;
  }
  const std::int64_t step_id = run.step_id;
  tasks_[part]->run_graph(std::move(run),
                          [this, part](Result<std::vector<Tensor>> fetches) { end(part, std::move(fetches)); });
  // The run may have been aborted before the task knew the step: aborts it again.
  Status cause;
  {
    MutexLock lock(mutex_);
    if (!aborted_) return;
    cause = derived_status(first_hand_.ok() ? derived_ : first_hand_);
  }
  tasks_[part]->abort(step_id, std::move(cause));
}

void RemoteRun::end(std::size_t part, Result<std::vector<Tensor>> fetches) {
  if (fetches.ok()) {
    parts_[part].fetches = *std::move(fetches);
  } else {
    parts_[part].unknown_handle = fetches.status().id() == "ARG-TASK-001";
    fail(fetches.status());
  }
  MutexLock lock(mutex_);
  if (--running_ == 0) changed_.notify_all();
}

void RemoteRun::run_own(const std::function<Status()>& own) {
  const Status status = guarded(own);
  if (status.ok()) return rendezvous_.end_sends();
  fail(status);
}

void RemoteRun::fail(const Status& why) {
  Status cause;
  std::vector<RemoteTask*> tell;
  {
    MutexLock lock(mutex_);
    Status& kept = is_derived(why) ? derived_ : first_hand_;
    if (kept.ok()) kept = why;
    // The error of a deadline names no node. A task's error with the same text says which node ran then.
    const Status plain = without_derived_mark(why);
    if (first_hand_.where().empty() && plain.code() == first_hand_.code() && plain.message() == first_hand_.message())
      first_hand_ = plain;
    if (std::exchange(aborted_, true)) return;
    cause = derived_status(why);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (started_[i] != 0) tell.push_back(tasks_[i]);
    }
    ++telling_;
  }
  for (RemoteTask* const task : tell) task->abort(context_.step_id(), cause);
  rendezvous_.abort(cause);
  context_.cancellation().cancel(cause);
  MutexLock lock(mutex_);
  if (--telling_ == 0) changed_.notify_all();
}

bool RemoteRun::failed() {
  MutexLock lock(mutex_);
  return aborted_;
}

void RemoteRun::wait() {
  {
    MutexLock lock(mutex_);
    while (running_ > 0 || telling_ > 0) changed_.wait(mutex_);
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    bool started = false;
    {
      MutexLock lock(mutex_);
      started = started_[i] != 0;
    }
    if (started) tasks_[i]->cleanup(context_.step_id());
  }
}

Status RemoteRun::status() {
  MutexLock lock(mutex_);
  return first_hand_.ok() ? without_derived_mark(derived_) : first_hand_;
}

}  // namespace argosy
