// TaskGraphs: the graphs that masters registered with one task, and their runs. It implements RegisterGraph and
// RunGraph of a worker, whatever the transport.
//
//   TaskGraphs graphs(device_set, rendezvous, op_state);
//   handle = graphs.register_graph(std::move(step), options);          compiles; any thread
//   graphs.run({handle, step_id, feeds}) -> fetches                    on the caller's thread, until it has ended
//   graphs.abort(step_id, cause)                                       from any other thread
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/tasks/remote_task.h"
#include "argosy/runtime/tasks/task_rendezvous.h"

namespace argosy {

class ExecutableStep;
class RunContext;

// Thread-safe: many runs at once.
class TaskGraphs {
 public:
  // `steps` outlives it. `op_state`: what ops of the graphs keep between runs, of one master's session; it is shared by
  // all graphs of this object.
  TaskGraphs(std::shared_ptr<DeviceSet> device_set, StepRendezvous& steps, std::shared_ptr<ResourceManager> op_state)
      : device_set_(std::move(device_set)), steps_(steps), op_state_(std::move(op_state)) {}
  // REQUIRES: no run is under way when this object is destroyed.

  // Every node asks for one of the device set's devices, or for none (then: a device of this task by the usual rules).
  // `_Send` nodes run whether they are targets or not. An error of a node names it.
  Result<std::string> register_graph(StepGraph graph, const TaskGraphOptions& options);
  void deregister_graph(const std::string& handle);
  // The ABORTED error of run() for an unknown handle; else OK.
  Status check(const std::string& handle);

  // ABORTED "ARG-TASK-001": unknown handle, this task was restarted. INVALID_ARGUMENT "ARG-TASK-002": wrong number of
  // feeds. An error of the run aborts the step's rendezvous, marked as derived. After a good run nothing more is sent.
  Result<std::vector<Tensor>> run(const TaskRun& run);
  // Ends the step's runs and its rendezvous; a run of it that starts later ends at once. `cause` is derived.
  void abort(std::int64_t step_id, const Status& cause);
  // Ends all runs of its graphs.
  void abort_all(const Status& cause);

 private:
  static std::string random_prefix();
  class Entered;
  void cancel_runs(const std::function<bool(std::int64_t step_id)>& which, const Status& cause);
  Result<std::vector<Tensor>> run_unguarded(const TaskRun& run);
  struct Registered {
    std::shared_ptr<ExecutableStep> step;
    TaskGraphOptions options;
  };

  const std::string prefix_ = random_prefix();  // of handles: those of an earlier incarnation are unknown
  const std::shared_ptr<DeviceSet> device_set_;
  StepRendezvous& steps_;
  const std::shared_ptr<ResourceManager> op_state_;
  Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<std::string, Registered> graphs_ ARGOSY_GUARDED_BY(mutex_);
  std::multimap<std::int64_t, RunContext*> runs_ ARGOSY_GUARDED_BY(mutex_);  // under way, by step
  int aborting_ ARGOSY_GUARDED_BY(mutex_) = 0;  // calls of cancel_runs(): no run leaves meanwhile
  CondVar aborted_;
};

}  // namespace argosy
