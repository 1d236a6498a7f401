// Coordinator: who is in the job, what its tasks tell each other, and why it ended. Lives in task 0. Its state can be
// lost: its members end then, each with the same cause.
//
// A call of a task is a method here; coordinator_methods.h serves them. Calls that wait end with their time, with the
// job's cause, or when `gone` is cancelled because the caller's connection has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/base/clock.h"
#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/cluster/coordinator/first_cause.h"
#include "argosy/cluster/coordinator/task_table.h"
#include "argosy/cluster/in_memory_store.h"

namespace argosy {

// Who calls: a task, and the coordinator that let it in.
struct CallerId {
  int rank = 0;
  std::uint64_t incarnation = 0, coordinator = 0;
};

// What a task says of itself when it comes.
struct JoinCall {
  std::string job, version;
  int size = 1;
  JobTask task;
  std::vector<std::pair<std::string, std::string>> program;
};

struct CoordinatorOptions {
  JoinCall own;  // of task 0: what the others must agree with
  std::vector<std::string> hosts;
  std::chrono::milliseconds heartbeat{1000};  // three missed: the task is gone
  // A task that others wait for, and that makes no progress for so long, ends the job; 0: never. Negative: as
  // TaskTable::patience() says.
  std::chrono::milliseconds stuck_after{-1};
};

// Thread-safe.
class Coordinator {
 public:
  // `clock` outlives this.
  Coordinator(CoordinatorOptions options, const Clock& clock);

  std::uint64_t incarnation() const { return incarnation_; }

  // Waits up to `most` for the others; true: all are here. NOT_FOUND "ARG-CLUSTER-033": another job. The errors of a
  // task that belongs to the job and differs from it end the job.
  Result<bool> join(const JoinCall& call, Cancellation& gone, std::chrono::milliseconds most);
  std::vector<JobTask> tasks() const;
  std::string waiting() const;  // who is missing, in one line

  // Each returns the job's cause, if there is one.
  // `waits`: for what of the other tasks; "": nothing.
  Status pulse(const CallerId& caller, std::int64_t step, std::string_view doing, std::string_view waits = {});
  Status watch(const CallerId& caller, Cancellation& gone);  // waits for the cause; OK: the caller has left
  Status put(const CallerId& caller, std::string_view key, std::string_view value);
  Result<std::string> get(const CallerId& caller, std::string_view key, std::chrono::milliseconds timeout,
                          Cancellation& gone);
  Status barrier(const CallerId& caller, const std::string& name, std::chrono::milliseconds timeout,
                 Cancellation& gone);
  Status leave(const CallerId& caller, bool told);
  // Waits until the first cause is decided, and returns it.
  Status fail(const CallerId& caller, const Status& cause);
  // The job has failed for a reason of its own: nobody came in time.
  void fail_job(CauseKind kind, Status cause);

  // What is due now: lost tasks, a cause whose time has come. Called every 20 ms by a thread of the owner's.
  void tick();
  // Waits until every task but this one has left or knows the cause. False: not within `most`.
  bool wait_until_alone(std::chrono::milliseconds most);
  Status cause() const;
  void count_refused(std::string why);  // a stranger was sent away; told while tasks are missing

  struct Snapshot {
    bool ready = false;
    std::vector<TaskEntry> tasks;
    std::vector<int> missing;
    std::string waits, refused;
    std::int64_t age = 0, now = 0;  // nanoseconds
    Status cause;
  };
  Snapshot snapshot() const;
  const CoordinatorOptions& options() const { return options_; }

 private:
  Status admit(const JoinCall& call) ARGOSY_REQUIRES(mutex_);
  Status check(const CallerId& caller) ARGOSY_REQUIRES(mutex_);
  void report(CauseKind kind, Status cause) ARGOSY_REQUIRES(mutex_);
  void settle() ARGOSY_REQUIRES(mutex_);
  std::int64_t silence() const;

  const CoordinatorOptions options_;
  const Clock& clock_;
  const std::uint64_t incarnation_;
  const std::int64_t started_;
  InMemoryStore store_;
  mutable Mutex mutex_;
  CondVar changed_;
  TaskTable table_ ARGOSY_GUARDED_BY(mutex_);
  FirstCause first_ ARGOSY_GUARDED_BY(mutex_);
  bool ready_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool told_all_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::int64_t ticked_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::string, std::set<int>> barriers_ ARGOSY_GUARDED_BY(mutex_);
  std::string refused_ ARGOSY_GUARDED_BY(mutex_);
};

// The name of the first option that differs, with both values: "--batch is 64 here and 32 on task 0"; "": none.
std::string program_difference(const JoinCall& own, const JoinCall& other);

}  // namespace argosy
