// RemoteRun: one run of a step over several tasks, on the master. It keeps the first error, and aborts all parts with
// it. Internal to runtime/tasks.
#pragma once

#include <functional>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/run_context.h"
#include "argosy/runtime/tasks/remote_task.h"

namespace argosy {

// Thread-safe. It lives until wait() has returned.
class RemoteRun {
 public:
  // The result of a part.
  struct Part {
    std::vector<Tensor> fetches;  // where it ended without an error
    bool unknown_handle = false;  // its task was restarted
    StepStats stats;              // where they are collected
  };

  // All outlive it.
  RemoteRun(RunContext& context, TaskRendezvous& rendezvous, std::vector<RemoteTask*> tasks)
      : context_(context),
        rendezvous_(rendezvous),
        tasks_(std::move(tasks)),
        parts_(tasks_.size()),
        started_(tasks_.size()) {}
  ~RemoteRun() = default;
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  void start(std::size_t part, TaskRun run);
  // Runs this task's own part on the calling thread.
  void run_own(const std::function<Status()>& own);
  // Aborts every part with the first error of all calls. A derived error counts only where no other came.
  void fail(const Status& why);
  bool failed();
  // Waits until all parts have ended; then their tasks forget the step.
  void wait();

  // REQUIRES: wait() has returned. Returns OK, or the first error that is not derived, or else the first derived one.
  Status status();
  Part& part(std::size_t i) { return parts_[i]; }

 private:
  void end(std::size_t part, Result<std::vector<Tensor>> fetches);

  RunContext& context_;
  TaskRendezvous& rendezvous_;
  const std::vector<RemoteTask*> tasks_;
  std::vector<Part> parts_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<char> started_ ARGOSY_GUARDED_BY(mutex_);  // by part
  int running_ ARGOSY_GUARDED_BY(mutex_) = 0;            // parts
  int telling_ ARGOSY_GUARDED_BY(mutex_) = 0;            // calls of fail() under way
  bool aborted_ ARGOSY_GUARDED_BY(mutex_) = false;
  Status first_hand_ ARGOSY_GUARDED_BY(mutex_);
  Status derived_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
