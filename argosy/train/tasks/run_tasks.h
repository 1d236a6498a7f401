// RunTasks: the tasks that train one model together, as the training loop sees them: whose devices there are, and what the
// tasks tell each other beside the sums of the step. Internal to train/.
//
//   JobTasks (argosy/cluster)     who there is, first causes
//        │
//   RunTasks ── NetGroup (argosy/comm/net)     sums, values, agreements
//        │
//   CompiledModel: a graph for all devices, of which this task runs its part (argosy/strategy/tasks)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/cluster/job_tasks.h"
#include "argosy/comm/net/net_group.h"
#include "argosy/device/device.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/strategy/tasks/task_part.h"

namespace argosy {

// Used by one thread, but for what says otherwise.
class RunTasks {
 public:
  // Every task calls it. `own`: the devices that this task trains on. `job` outlives this.
  // One for each job.
  static Result<std::shared_ptr<RunTasks>> make(JobTasks& job, const std::vector<DeviceSpec>& own);
  // Waits for the other tasks, unless the run has failed.
  ~RunTasks();

  int rank() const { return job_.rank(); }
  int size() const { return job_.size(); }
  bool is_first() const { return rank() == 0; }
  JobTasks& job() const { return job_; }
  NetGroup& net() const { return *net_; }

  // Of all tasks, in their order: "/job:train/replica:0/task:1/device:GPU:0".
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  const TaskDevices& task_devices() const { return task_devices_; }
  // The same for the next graph, whose collectives have numbers of their own. Every task makes its graphs in one order.
  TaskDevices devices_of_next_graph();
  bool is_own(std::size_t device) const { return task_devices_.task[device] == rank(); }
  // Kernels of this device set find the group.
  Status serve(DeviceSet& device_set) const;

  // FAILED_PRECONDITION ARG-CLUSTER-060 names the first line that differs. `what`: "the training step".
  Status agree(std::string_view what, const std::string& lines);
  // Task 0's on every task; what the others bring counts for nothing.
  Result<std::vector<Tensor>> from_first(std::vector<Tensor> values);
  // The smallest of all tasks' numbers.
  Result<std::int64_t> smallest(std::int64_t number);
  // Texts of all tasks, by task.
  Result<std::vector<std::string>> all_texts(const std::string& own, std::string_view what);

  // Tells the others, while a step runs, whether this task wants to stop after it. Then collect_vote(): whether any does,
  // the same on every task.
  void cast_vote(bool stop);
  Result<bool> collect_vote();

  // This task's run has failed. Returns the job's first cause.
  Status fail(const Status& status);
  // Where this task is, for the coordinator.
  void progress(std::int64_t step, std::string_view doing) { job_.progress(step, doing); }

 private:
  explicit RunTasks(JobTasks& job) : job_(job) {}
  Status exchange_devices(const std::vector<DeviceSpec>& own);
  Status connect();

  struct Vote;
  JobTasks& job_;
  std::shared_ptr<NetGroup> net_;
  std::vector<DeviceSpec> devices_;
  TaskDevices task_devices_;
  int graphs_ = 0;
  std::shared_ptr<Vote> vote_;  // null: none is cast
};

}  // namespace argosy
