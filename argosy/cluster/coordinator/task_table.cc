#include "argosy/cluster/coordinator/task_table.h"

#include <algorithm>
#include <cstdio>

namespace argosy {

namespace {

std::string seconds(std::int64_t nanos) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(nanos) * 1e-9);
  return text;
}

std::string place(const TaskEntry& entry) {
  std::string text = str_cat("step ", entry.step);
  if (!entry.barrier.empty()) return str_cat(text, ", barrier \"", entry.barrier, "\"");
  if (!entry.doing.empty()) text += str_cat(", ", entry.doing);
  return entry.waits.empty() ? text : str_cat(text, ", waits in ", entry.waits);
}

}  // namespace

std::string TaskEntry::name() const {
  return str_cat("task ", task.rank, task.host.empty() ? "" : str_cat(" (", task.host, ")"));
}

TaskTable::TaskTable(int size, const std::vector<std::string>& hosts) : entries_(static_cast<std::size_t>(size)) {
  for (int rank = 0; rank < size; ++rank) {
    at(rank).task.rank = rank;
    if (static_cast<std::size_t>(rank) < hosts.size()) at(rank).task.host = hosts[static_cast<std::size_t>(rank)];
  }
}

bool TaskTable::complete(std::int64_t now, std::int64_t silence) {
  for (TaskEntry& entry : entries_) {
    if (!entry.joined()) return false;
    if (entry.joining == 0 && now - entry.heard > silence) {
      entry.task.incarnation = 0;  // it joined and went away before the job began
      return false;
    }
  }
  return true;
}

std::vector<int> TaskTable::missing() const {
  std::vector<int> ranks;
  for (const TaskEntry& entry : entries_) {
    if (!entry.joined()) ranks.push_back(entry.task.rank);
  }
  return ranks;
}

std::vector<JobTask> TaskTable::tasks() const {
  std::vector<JobTask> tasks;
  for (const TaskEntry& entry : entries_) tasks.push_back(entry.task);
  return tasks;
}

Status TaskTable::find_lost(std::int64_t now, std::int64_t closed, std::int64_t silence) {
  // Of several the one whose connection ended first: the others may have ended because of it. A closed connection comes
  // before silence: the process has ended, which is more than silence says.
  TaskEntry* lost = nullptr;
  bool lost_closed = false;
  for (TaskEntry& entry : entries_) {
    if (!entry.here()) continue;
    const bool gone = entry.watching == 0 && entry.unwatched != 0 && now - entry.unwatched >= closed;
    if (!gone && now - entry.heard < silence) continue;
    const bool earlier = lost == nullptr || (gone && (!lost_closed || entry.unwatched < lost->unwatched));
    if (!earlier) continue;
    lost = &entry;
    lost_closed = gone;
  }
  if (lost == nullptr) return ok_status();
  lost->lost = true;
  const std::string why = lost_closed ? "its connection was closed: the process has ended"
                                      : str_cat("no heartbeat for ", seconds(now - lost->heard));
  return unavailable(lost->name(), " is gone: ", why, "; last heard at ", place(*lost))
      .with_id(lost_closed ? "ARG-CLUSTER-044" : "ARG-CLUSTER-045")
      .with_where(lost->name())
      .with_hint(lost_closed ? "read the log of that task, then start the job again (argosy train: --resume)"
                             : "argosy cluster check, then start the job again (argosy train: --resume)");
}

Status TaskTable::find_stuck(std::int64_t now, std::int64_t limit) const {
  const TaskEntry* behind = nullptr;
  std::vector<const TaskEntry*> waiting;
  bool all_wait = true;
  for (const TaskEntry& entry : entries_) {
    if (!entry.here() || entry.changed == 0) {
      if (entry.here()) return ok_status();  // has told nothing yet
      continue;
    }
    const bool waits = !entry.waits.empty() || !entry.barrier.empty();
    if (now - entry.changed < limit) return ok_status();  // something goes on
    all_wait = all_wait && waits;
    if (waits) waiting.push_back(&entry);
  }
  if (waiting.empty()) return ok_status();
  for (const TaskEntry& entry : entries_) {
    const bool waits = !entry.waits.empty() || !entry.barrier.empty();
    if (!entry.here() || (waits && !all_wait)) continue;
    const bool earlier = behind == nullptr || entry.step < behind->step ||
                         (entry.step == behind->step && entry.changed < behind->changed);
    if (earlier) behind = &entry;
  }
  std::vector<int> others;
  std::string what;
  for (const TaskEntry* entry : waiting) {
    if (entry == behind) continue;
    others.push_back(entry->task.rank);
    if (what.empty()) what = place(*entry);
  }
  const std::string who = others.empty() ? std::string()
                                         : str_cat("; ", others.size() == 1 ? "task " : "tasks ", number_ranges(others),
                                                   others.size() == 1 ? " waits" : " wait", " for it, at ", what);
  return unavailable(behind->name(), " makes no progress for ", seconds(now - behind->changed), ": at ", place(*behind),
                     who)
      .with_id("ARG-CLUSTER-125")
      .with_where(behind->name())
      .with_hint("look at that task (its log, its data, py-spy or gdb); --stuck-after S waits longer, 0 for ever");
}

std::int64_t TaskTable::patience() const {
  std::int64_t slowest = 0;
  for (const TaskEntry& entry : entries_) {
    if (entry.step > entry.first_step)
      slowest = std::max(slowest, (entry.changed - entry.began) / (entry.step - entry.first_step));
  }
  return std::max(kLeastPatience, slowest > INT64_MAX / kPatientSteps ? INT64_MAX : kPatientSteps * slowest);
}

bool TaskTable::all_left(int but) const {
  return std::all_of(entries_.begin(), entries_.end(), [&](const TaskEntry& entry) {
    return entry.task.rank == but || !entry.here() || entry.knows_cause;
  });
}

void TaskTable::count_late(std::int64_t nanos) {
  for (TaskEntry& entry : entries_) {
    if (entry.heard != 0) entry.heard += nanos;
    if (entry.unwatched != 0) entry.unwatched += nanos;
    if (entry.changed != 0) entry.changed += nanos;
  }
}

std::string TaskTable::waits(std::int64_t now) const {
  // Who is behind: the lowest step. On one step: who stands in no barrier while others do.
  const TaskEntry* behind = nullptr;
  std::vector<int> waiting;
  const auto before = [](const TaskEntry& a, const TaskEntry& b) {
    if (a.step != b.step) return a.step < b.step;
    return a.barrier.empty() && !b.barrier.empty();
  };
  for (const TaskEntry& entry : entries_) {
    if (entry.here() && (behind == nullptr || before(entry, *behind))) behind = &entry;
  }
  if (behind == nullptr) return {};
  for (const TaskEntry& entry : entries_) {
    if (entry.here() && before(*behind, entry)) waiting.push_back(entry.task.rank);
  }
  if (waiting.empty()) return {};
  return str_cat(waiting.size() == 1 ? "task " : "tasks ", number_ranges(waiting),
                 waiting.size() == 1 ? " waits for " : " wait for ", behind->name(), ", at ", place(*behind), " for ",
                 seconds(now - behind->changed));
}

std::string number_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (end - i == 2) text += str_cat(", ", numbers[end - 1]);
    if (end - i > 2) text += str_cat("-", numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace argosy
