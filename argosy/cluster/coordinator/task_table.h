// TaskTable: what the coordinator knows of each task: whether it has joined, when it was heard, where it is.
// Used under the coordinator's lock. Times are nanoseconds of its clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/job_tasks.h"

namespace argosy {

struct TaskEntry {
  JobTask task;                   // incarnation 0: it has not joined
  int joining = 0, watching = 0;  // calls of it that wait here
  std::int64_t heard = 0;         // its last call
  std::int64_t unwatched = 0;     // when its connection ended; 0: it stands
  std::int64_t changed = 0;       // when step or doing changed
  std::int64_t step = 0;
  std::int64_t began = 0, first_step = 0;  // when it told its first step, and which
  std::string doing, barrier;
  std::string waits;  // what for, of the others; "": nothing
  bool left = false, told = false, lost = false;

  bool joined() const { return task.incarnation != 0; }
  bool here() const { return joined() && !left && !lost; }
  std::string name() const;  // "task 3 (gpu-b)"
};

class TaskTable {
 public:
  TaskTable(int size, const std::vector<std::string>& hosts);

  int size() const { return static_cast<int>(entries_.size()); }
  TaskEntry& at(int rank) { return entries_[static_cast<std::size_t>(rank)]; }
  const TaskEntry& at(int rank) const { return entries_[static_cast<std::size_t>(rank)]; }
  bool has(int rank) const { return rank >= 0 && rank < size(); }

  // Whether all have joined and were heard within `silence`.
  bool complete(std::int64_t now, std::int64_t silence);
  std::vector<int> missing() const;  // ranks that have not joined
  std::vector<JobTask> tasks() const;

  // The first task that is gone: its connection ended `closed` ago, or it was not heard for `silence`. Marks it lost
  // and says so; OK: none.
  Status find_lost(std::int64_t now, std::int64_t closed, std::int64_t silence);
  // The task that is waited for, where it has told nothing new for `limit` and others have waited so long; where all wait
  // for each other, the one behind. OK: none. One that works on while others wait is none.
  Status find_stuck(std::int64_t now, std::int64_t limit) const;
  // As long as kPatientSteps steps of the slowest task took so far; kLeastPatience at least.
  static constexpr std::int64_t kPatientSteps = 20, kLeastPatience = 240'000'000'000;
  std::int64_t patience() const;
  bool all_left(int but) const;         // all except `but` have left, are lost or have been told the cause
  void count_late(std::int64_t nanos);  // the coordinator did not run for so long: nobody is blamed for it
  // "tasks 0, 1 wait for task 2 (gpu-c), which is at step 812, \"input\", for 31.0 s"; "": nobody waits.
  std::string waits(std::int64_t now) const;

 private:
  std::vector<TaskEntry> entries_;
};

// "0, 2-5, 9" of ascending numbers.
std::string number_ranges(const std::vector<int>& numbers);

}  // namespace argosy
