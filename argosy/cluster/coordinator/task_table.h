// TaskTable: the coordinator's record of each task: whether it has joined, its last call, its progress. Not
// synchronised: guarded by the coordinator's lock. Times are nanoseconds of its clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/job_tasks.h"

namespace argosy {

struct TaskEntry {
  JobTask task;                   // incarnation 0: it has not joined
  int joining = 0, watching = 0;  // its calls of join() and watch() that wait now
  std::int64_t heard = 0;         // time of its last call
  std::int64_t unwatched = 0;     // when its connection ended; 0: it is connected
  std::int64_t changed = 0;       // when step or doing changed
  std::int64_t step = 0;
  std::int64_t began = 0, first_step = 0;  // when it reported its first step, and that step
  std::string doing, barrier;
  std::string waits;  // what it waits for that other tasks must do; "": nothing
  bool left = false, knows_cause = false, lost = false;

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

  // True if all have joined, and have called within `silence`.
  bool complete(std::int64_t now, std::int64_t silence);
  std::vector<int> missing() const;  // ranks that have not joined
  std::vector<JobTask> tasks() const;

  // Finds the first task that is lost: its connection ended `closed` ago, or it did not call for `silence`. Marks it
  // lost and returns the error; OK: none.
  Status find_lost(std::int64_t now, std::int64_t closed, std::int64_t silence);
  // Returns an error that names a stuck task; OK: none. A task is stuck if no task has made progress for `limit`, and
  // others wait for it. If all wait for each other, it is the task with the lowest step.
  Status find_stuck(std::int64_t now, std::int64_t limit) const;
  // patience() is kPatientSteps times the mean step time of the slowest task, and at least kLeastPatience.
  static constexpr std::int64_t kPatientSteps = 20, kLeastPatience = 240'000'000'000;
  std::int64_t patience() const;
  bool all_left(int but) const;         // all except `but` have left, are lost or have been told the cause
  void count_late(std::int64_t nanos);  // the coordinator itself did not run for so long: extends all deadlines
  // "tasks 0, 1 wait for task 2 (gpu-c), which is at step 812, \"input\", for 31.0 s"; "": no task waits.
  std::string waits(std::int64_t now) const;

 private:
  std::vector<TaskEntry> entries_;
};

// "0, 2-5, 9" of ascending numbers.
std::string number_ranges(const std::vector<int>& numbers);

}  // namespace argosy
