// The coordinator's calls after all tasks have joined: store, barriers, leaving and failing.
#include <algorithm>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/cluster/coordinator/coordinator.h"

namespace argosy {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

Status Coordinator::put(const CallerId& caller, std::string_view key, std::string_view value) {
  {
    const MutexLock lock(mutex_);
    ARGOSY_RETURN_IF_ERROR(check(caller));
  }
  return store_.put(key, value);
}

Result<std::string> Coordinator::get(const CallerId& caller, std::string_view key, milliseconds timeout,
                                     Cancellation& gone) {
  {
    const MutexLock lock(mutex_);
    ARGOSY_RETURN_IF_ERROR(check(caller));
  }
  constexpr milliseconds kSlice{500};  // a caller that is gone holds the thread no longer
  const auto until = steady_clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    Result<std::string> found = store_.get(key, std::clamp(left, milliseconds(0), kSlice));
    if (found.ok() || found.status().id() != "ARG-CLUSTER-003") return found;
    if (gone.cancelled()) return gone.status();
    if (left <= kSlice) {
      return deadline_exceeded("nobody put key '", key, "' within ", timeout.count(), " ms").with_id("ARG-CLUSTER-003");
    }
  }
}

Status Coordinator::barrier(const CallerId& caller, const std::string& name, milliseconds timeout, Cancellation& gone) {
  const auto until = steady_clock::now() + timeout;
  const CancelLink link(&gone, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  const MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(check(caller));
  std::set<int>& arrived = barriers_[name];
  arrived.insert(caller.rank);
  TaskEntry& entry = table_.at(caller.rank);
  entry.barrier = name;
  entry.changed = clock_.now_nanos();
  changed_.notify_all();
  bool in_time = true;
  while (static_cast<int>(arrived.size()) < table_.size() && first_.status().ok() && !gone.cancelled() && in_time) {
    in_time = changed_.wait_until(mutex_, until);
  }
  entry.barrier.clear();
  if (static_cast<int>(arrived.size()) == table_.size()) return ok_status();
  if (!first_.status().ok()) return first_.status();
  if (gone.cancelled()) return gone.status();
  std::vector<std::string> missing;
  for (int rank = 0; rank < table_.size(); ++rank) {
    const TaskEntry& other = table_.at(rank);
    if (!arrived.contains(rank)) missing.push_back(str_cat(other.name(), other.left ? ", which has left" : ""));
  }
  return deadline_exceeded("barrier '", name, "': after ", timeout.count(), " ms ", missing.size(), " of ",
                           table_.size(), " tasks were not there: ", str_join(missing))
      .with_id("ARG-CLUSTER-040")
      .with_hint("argosy status HOST:PORT says what they do");
}

Status Coordinator::leave(const CallerId& caller, bool knows_cause) {
  const MutexLock lock(mutex_);
  const Status known = check(caller);
  if (!table_.has(caller.rank) || table_.at(caller.rank).task.incarnation != caller.incarnation) return known;
  TaskEntry& entry = table_.at(caller.rank);
  if (knows_cause) {
    entry.knows_cause = true;
  } else if (known.ok()) {
    entry.left = true;
  }
  changed_.notify_all();
  return knows_cause ? ok_status() : known;
}

Status Coordinator::fail(const CallerId& caller, const Status& cause) {
  const MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(check(caller));
  const TaskEntry& entry = table_.at(caller.rank);
  report(kind_of_cause(cause), with_task(cause, caller.rank, entry.task.host));
  while (first_.status().ok()) changed_.wait(mutex_);
  return first_.status();
}

}  // namespace argosy
