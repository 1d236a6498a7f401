#include "argosy/cluster/coordinator/coordinator.h"

#include <algorithm>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/cluster/incarnation.h"

namespace argosy {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kClosedNanos = 60 * kMs;  // a connection that is made anew within this time has not ended
constexpr std::int64_t kTickNanos = 20 * kMs;
constexpr std::int64_t kLateNanos = 200 * kMs;  // of a busy machine; more, and it was stopped

}  // namespace

std::string program_difference(const JoinCall& own, const JoinCall& other) {
  if (own.size != other.size)
    return str_cat("the number of tasks is ", other.size, " there and ", own.size, " on task 0");
  const std::map<std::string, std::string> ours(own.program.begin(), own.program.end());
  std::map<std::string, std::string> theirs(other.program.begin(), other.program.end());
  const auto said = [](const std::string& value) { return value.empty() ? std::string("not given") : value; };
  for (const auto& [name, value] : ours) {
    const std::string there = theirs[name];
    if (there != value) return str_cat(name, " is ", said(there), " there and ", said(value), " on task 0");
    theirs.erase(name);
  }
  for (const auto& [name, value] : theirs) {
    if (!value.empty()) return str_cat(name, " is ", value, " there and not given on task 0");
  }
  return {};
}

Coordinator::Coordinator(CoordinatorOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      incarnation_(own_incarnation()),
      started_(clock.now_nanos()),
      table_(options_.own.size, options_.hosts),
      ticked_(started_) {}

std::int64_t Coordinator::silence() const { return 3 * nanoseconds(options_.heartbeat).count(); }

Status Coordinator::admit(const JoinCall& call) {
  if (call.job != options_.own.job) {
    return not_found("this is job '", options_.own.job, "', not '", call.job, "'").with_id("ARG-CLUSTER-033");
  }
  const std::string who = str_cat("task ", call.task.rank, " (", call.task.host, ")");
  Status refused;
  if (call.version != options_.own.version) {
    refused = failed_precondition("version ", call.version, " there and ", options_.own.version, " on task 0")
                  .with_id("ARG-CLUSTER-035")
                  .with_hint("the same argosy on every host: argosy version");
  } else if (const std::string difference = program_difference(options_.own, call); !difference.empty()) {
    refused =
        failed_precondition(difference).with_id("ARG-CLUSTER-036").with_hint("the same command line on every task");
  } else if (!table_.has(call.task.rank)) {
    refused = invalid_argument("rank ", call.task.rank, " is not below the ", table_.size(), " tasks of the job")
                  .with_id("ARG-CLUSTER-036")
                  .with_hint(str_cat("ranks from 0 to ", table_.size() - 1));
  }
  if (!refused.ok()) {
    refused = std::move(refused).with_where(who);
    report(CauseKind::kOwn, refused);
    return refused;
  }
  const TaskEntry& entry = table_.at(call.task.rank);
  if (entry.joined() && entry.task.incarnation != call.task.incarnation) {
    // Not the job's end: which of the two is meant is not known, and the first one works.
    const bool again = ready_ && !entry.here();
    refused_ = str_cat("a second ", who);
    return already_exists(entry.name(),
                          again ? " has been here and is gone: this process was started again"
                                : " is here already: two processes have one rank",
                          ", incarnations ", entry.task.incarnation, " and ", call.task.incarnation)
        .with_id("ARG-CLUSTER-037")
        .with_where(who)
        .with_hint(again ? "start the whole job again" : "another rank for each process");
  }
  return ok_status();
}

Result<bool> Coordinator::join(const JoinCall& call, Cancellation& gone, milliseconds most) {
  const auto until = steady_clock::now() + most;
  const CancelLink link(&gone, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  const MutexLock lock(mutex_);
  if (!first_.status().ok()) return first_.status();
  ARGOSY_RETURN_IF_ERROR(admit(call));
  TaskEntry& entry = table_.at(call.task.rank);
  if (!ready_) entry.task = call.task;
  entry.heard = clock_.now_nanos();
  ++entry.joining;
  bool in_time = true;
  while (true) {
    const std::int64_t now = clock_.now_nanos();
    if (!ready_ && table_.complete(now, silence())) {
      ready_ = true;
      for (int rank = 0; rank < table_.size(); ++rank) table_.at(rank).heard = now;
      changed_.notify_all();
    }
    if (ready_ || !first_.status().ok() || gone.cancelled() || !in_time) break;
    in_time = changed_.wait_until(mutex_, until);
  }
  --entry.joining;
  entry.heard = clock_.now_nanos();
  if (!ready_ && gone.cancelled()) entry.task.incarnation = 0;  // its process has ended: it may be started again
  if (!first_.status().ok()) return first_.status();
  return ready_;
}

std::vector<JobTask> Coordinator::tasks() const {
  const MutexLock lock(mutex_);
  return table_.tasks();
}

std::string Coordinator::waiting() const {
  const MutexLock lock(mutex_);
  const std::vector<int> missing = table_.missing();
  return str_cat("waiting for ", missing.size(), " of ", table_.size(), " tasks: ", number_ranges(missing));
}

Status Coordinator::check(const CallerId& caller) {
  if (!first_.status().ok()) return first_.status();
  const bool known = table_.has(caller.rank) && caller.coordinator == incarnation_ &&
                     table_.at(caller.rank).task.incarnation == caller.incarnation;
  if (!known) {
    return aborted("task ", caller.rank, " belongs to another start of this job: incarnation ", caller.incarnation,
                   " of coordinator ", caller.coordinator, ", this is ", incarnation_)
        .with_id("ARG-CLUSTER-039")
        .with_hint("start the whole job again");
  }
  table_.at(caller.rank).heard = clock_.now_nanos();
  return ok_status();
}

Status Coordinator::pulse(const CallerId& caller, std::int64_t step, std::string_view doing, std::string_view waits) {
  const MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(check(caller));
  TaskEntry& entry = table_.at(caller.rank);
  if (entry.step != step || entry.doing != doing || entry.waits != waits || entry.changed == 0)
    entry.changed = entry.heard;
  if (entry.began == 0 || step < entry.first_step) {
    entry.began = entry.heard;
    entry.first_step = step;
  }
  entry.step = step;
  entry.doing = doing;
  entry.waits = waits;
  return ok_status();
}

Status Coordinator::watch(const CallerId& caller, Cancellation& gone) {
  const CancelLink link(&gone, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  const MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(check(caller));
  TaskEntry& entry = table_.at(caller.rank);
  ++entry.watching;
  entry.unwatched = 0;
  while (first_.status().ok() && !entry.left && !gone.cancelled()) changed_.wait(mutex_);
  --entry.watching;
  if (gone.cancelled() && entry.watching == 0) entry.unwatched = clock_.now_nanos();
  if (entry.left) return ok_status();
  return first_.status();
}

void Coordinator::fail_job(CauseKind kind, Status cause) {
  const MutexLock lock(mutex_);
  report(kind, std::move(cause));
}

void Coordinator::report(CauseKind kind, Status cause) {
  first_.report(kind, std::move(cause), clock_.now_nanos());
  settle();
}

void Coordinator::settle() {
  if (told_all_ || first_.status().ok()) return;
  told_all_ = true;
  store_.abort(first_.status());
  changed_.notify_all();
}

void Coordinator::tick() {
  const MutexLock lock(mutex_);
  const std::int64_t now = clock_.now_nanos();
  // A machine that did not run this thread did not read heartbeats either.
  const std::int64_t late = now - ticked_ - kTickNanos;
  ticked_ = now;
  if (late > kLateNanos) table_.count_late(late);
  if (ready_ && first_.status().ok()) {
    Status lost = table_.find_lost(now, kClosedNanos, silence());
    if (!lost.ok()) report(CauseKind::kLost, std::move(lost));
    const std::int64_t limit = nanoseconds(options_.stuck_after).count();
    Status stuck = limit == 0 ? ok_status() : table_.find_stuck(now, limit > 0 ? limit : table_.patience());
    if (!stuck.ok()) report(CauseKind::kLost, std::move(stuck));
  }
  first_.decide(now);
  settle();
}

bool Coordinator::wait_until_alone(milliseconds most) {
  const auto until = steady_clock::now() + most;
  const MutexLock lock(mutex_);
  while (!table_.all_left(0)) {
    if (!changed_.wait_until(mutex_, until)) return table_.all_left(0);
  }
  return true;
}

Status Coordinator::cause() const {
  const MutexLock lock(mutex_);
  return first_.status();
}

void Coordinator::count_refused(std::string why) {
  const MutexLock lock(mutex_);
  refused_ = std::move(why);
}

Coordinator::Snapshot Coordinator::snapshot() const {
  const MutexLock lock(mutex_);
  Snapshot now;
  now.ready = ready_;
  now.now = clock_.now_nanos();
  now.age = now.now - started_;
  for (int rank = 0; rank < table_.size(); ++rank) now.tasks.push_back(table_.at(rank));
  now.missing = table_.missing();
  if (ready_) now.waits = table_.waits(now.now);
  now.refused = refused_;
  now.cause = first_.status();
  return now;
}

}  // namespace argosy
