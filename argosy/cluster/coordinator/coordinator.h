// Coordinator: the members of a job, their key-value store and barriers, and the job's first cause. Lives in task 0. If
// task 0 dies, its state is lost, and every member ends with the same cause.
//
// Each RPC of a task is a method here; coordinator_methods.h serves them. A waiting call ends when its time-out is
// over, when the job has a first cause, or when `gone` is cancelled because the caller's connection has ended.
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

// The caller of an RPC: its task, and the incarnation of the coordinator that it joined.
struct CallerId {
  int rank = 0;
  std::uint64_t incarnation = 0, coordinator = 0;
};

// What a task sends when it joins.
struct JoinCall {
  std::string job, version;
  int size = 1;
  JobTask task;
  std::vector<std::pair<std::string, std::string>> program;
};

struct CoordinatorOptions {
  JoinCall own;  // task 0's own; the others must agree with it
  std::vector<std::string> hosts;
  std::chrono::milliseconds heartbeat{1000};  // after three missed ones the task is lost
  // A task ends the job if others wait for it and it makes no progress for this long. 0: never. Negative: the limit is
  // TaskTable::patience().
  std::chrono::milliseconds stuck_after{-1};
};

// Thread-safe.
class Coordinator {
 public:
  // `clock` must outlive this.
  Coordinator(CoordinatorOptions options, const Clock& clock);

  std::uint64_t incarnation() const { return incarnation_; }

  // Admits a task, and waits up to `most` for the others. Returns true once all have joined. NOT_FOUND
  // "ARG-CLUSTER-033": the caller belongs to another job. If a task of the job has different options or another
  // version, that error ends the job.
  Result<bool> join(const JoinCall& call, Cancellation& gone, std::chrono::milliseconds most);
  std::vector<JobTask> tasks() const;
  std::string waiting() const;  // the missing tasks, in one line

  // Each of the following returns the job's first cause, if there is one.
  // A heartbeat. `waits`: what the task waits for that other tasks must do; "": nothing.
  Status pulse(const CallerId& caller, std::int64_t step, std::string_view doing, std::string_view waits = {});
  Status watch(const CallerId& caller, Cancellation& gone);  // waits for the first cause; OK: the caller has left
  Status put(const CallerId& caller, std::string_view key, std::string_view value);
  Result<std::string> get(const CallerId& caller, std::string_view key, std::chrono::milliseconds timeout,
                          Cancellation& gone);
  Status barrier(const CallerId& caller, const std::string& name, std::chrono::milliseconds timeout,
                 Cancellation& gone);
  Status leave(const CallerId& caller, bool knows_cause);
  // Waits until the first cause is decided, and returns it.
  Status fail(const CallerId& caller, const Status& cause);
  // Fails the job for a reason that no task reported: a task did not join in time.
  void fail_job(CauseKind kind, Status cause);

  // Does what is due: finds lost and stuck tasks, and decides the first cause. A thread of the owner calls it every 20
  // ms.
  void tick();
  // Waits until every task but this one has left, is lost, or knows the cause. False: not within `most`.
  bool wait_until_alone(std::chrono::milliseconds most);
  Status cause() const;
  void count_refused(std::string why);  // notes a refused request, for messages while tasks are missing

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
