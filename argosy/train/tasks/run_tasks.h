// RunTasks: the tasks that train one model together, for the training loop. It has the devices of all tasks, and the
// communication between tasks beside the collectives of a step. Internal to train/.
//
//   JobTasks (argosy/cluster)     list of tasks, first causes
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

// Used by one thread.
class RunTasks {
 public:
  // Every task calls it, once for a job. `own`: the devices that this task trains on. `job` outlives this object.
  static Result<std::shared_ptr<RunTasks>> make(JobTasks& job, const std::vector<DeviceSpec>& own);
  // Waits for the other tasks, unless the run has failed.
  ~RunTasks();

  int rank() const { return job_.rank(); }
  int size() const { return job_.size(); }
  bool is_first() const { return rank() == 0; }
  JobTasks& job() const { return job_; }
  NetGroup& net() const { return *net_; }

  // The devices of all tasks, in the order of tasks: "/job:train/replica:0/task:1/device:GPU:0".
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  const TaskDevices& task_devices() const { return task_devices_; }
  // The same for the next graph, whose collectives have numbers of their own. All tasks must make their graphs in the
  // same order.
  TaskDevices devices_of_next_graph();
  bool is_own(std::size_t device) const { return task_devices_.task[device] == rank(); }
  // Makes net() available to the kernels of this device set.
  Status serve(DeviceSet& device_set) const;

  // Checks that `lines` are equal on all tasks. FAILED_PRECONDITION ARG-CLUSTER-060 names the first line that differs.
  // `what`: for messages, "the training step".
  Status agree(std::string_view what, const std::string& lines);
  // Returns task 0's values on every task. The arguments of the other tasks are ignored.
  Result<std::vector<Tensor>> from_first(std::vector<Tensor> values);
  // Returns the smallest of all tasks' numbers.
  Result<std::int64_t> smallest(std::int64_t number);
  // Returns the texts of all tasks, by task. `what`: for messages.
  Result<std::vector<std::string>> all_texts(const std::string& own, std::string_view what);

  // Sends to the others, while a step runs, whether this task wants to stop after it.
  void cast_vote(bool stop);
  // Waits for the votes of all tasks. Returns whether any wants to stop, the same on every task. REQUIRES: cast_vote().
  Result<bool> collect_vote();

  // Reports that this task's run has failed, and aborts the network. Returns the job's first cause.
  Status fail(const Status& status);
  // Reports the progress of this task to the coordinator.
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
