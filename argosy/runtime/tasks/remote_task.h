// RemoteTask, RemoteTasks: the other tasks of a cluster, as the session of a master sees them. A session that is given
// them (SessionOptions::tasks) places nodes on their devices too. It cuts each step into one graph per task, registers
// the others' graphs with them, and runs all of them together:
//
//   session ── place over all devices ── partition ──┬── own graph ──► own devices
//                                                    └── RemoteTask::register_graph, once a step's signature
//                                                        RemoteTask::run_graph, once a run
//
// Implemented over gRPC by argosy/tf/worker, and in one process by argosy/testing/fake_cluster.h. The other task runs
// the graphs in a TaskGraphs (task_graphs.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/device_set/stats.h"
#include "argosy/runtime/tasks/task_rendezvous.h"

namespace argosy {

// What holds for every run of a registered graph.
struct TaskGraphOptions {
  bool fetch_handles = false;  // SessionOptions::fetch_handles
  bool reproducible = false;   // SessionOptions::reproducible
  bool prepare = false;        // the master has not prepared it: this task lowers functions and runs passes
};

// One run of a registered graph.
struct TaskRun {
  std::string handle;         // as register_graph returned it
  std::int64_t step_id = 0;   // the same on every task of the step, and of no other step of the cluster
  std::vector<Tensor> feeds;  // by position in StepGraph::feeds; owned host tensors
  // Filled with that task's devices and ops before `done` is called; null: not collected.
  StepStats* stats = nullptr;
};

// One other task. Thread-safe. No call waits; each callback is called once, from any thread, perhaps before the call
// returns.
class RemoteTask {
 public:
  using Registered = std::function<void(Result<std::string> handle)>;
  // The values of StepGraph::fetches in order: owned host tensors, invalid ones for control values.
  using Ran = std::function<void(Result<std::vector<Tensor>> fetches)>;

  virtual ~RemoteTask() = default;

  // `graph` is this task's partition: every node has the full name of one of its devices; feeds are "_Arg" nodes. It
  // lives until `done` is called. The task compiles it as it is: no pass and no placement may change which values
  // cross. An error of a node names it.
  virtual void register_graph(const StepGraph& graph, const TaskGraphOptions& options, Registered done) = 0;
  // REQUIRES: no run of the graph is under way, and none will be. A task that is gone is no error.
  virtual void deregister_graph(const std::string& handle) = 0;

  // Runs it once. The error of a run that ends because of another task's error is derived (derived_status.h): what a
  // receive was told by the sender's task, and the cause given to abort(). Where the task or the way to it is lost the
  // error is UNAVAILABLE, or ABORTED where it was started again; that is first-hand.
  virtual void run_graph(TaskRun run, Ran done) = 0;
  // Ends this step on that task. `done` of its run_graph is called soon after, whether the task answers or not. `cause`
  // is derived. A step that the task does not know is no error.
  virtual void abort(std::int64_t step_id, Status cause) = 0;
  // The step has ended on every task, which forgets its values. Called once for every run_graph, after its `done`.
  virtual void cleanup(std::int64_t step_id) = 0;
};

// All other tasks, and this one's way to them. Thread-safe; outlives the sessions that use it.
class RemoteTasks {
 public:
  virtual ~RemoteTasks() = default;

  // Devices of the other tasks, by full name, in the order of placement: by job, task, CPUs first. The list does not
  // change while a session lives.
  virtual std::vector<DeviceSpec> devices() const = 0;
  // True if the task of that device has a kernel for the op there. A task of TensorFlow has one for every op of
  // TensorFlow.
  virtual bool has_kernel(const OpDef& op, const DeviceSpec& device) const = 0;
  // The incarnation of a device of any task, this one included, by full name. Asked for when a step is cut.
  virtual std::uint64_t incarnation(const std::string& device) const = 0;
  // The task that owns devices of this name's job, replica and task; null: there is none.
  virtual RemoteTask* task(const DeviceName& device) = 0;

  // This task's side of a step: what its `_Send` and `_Recv` use. Other tasks find it by `step_id`.
  virtual std::shared_ptr<TaskRendezvous> rendezvous(std::int64_t step_id) = 0;
  // The step has ended on every task.
  virtual void forget(std::int64_t step_id) = 0;

  // Returns a number that no other transfer of the sessions with these tasks has (PartitionOptions::next_transfer).
  std::int64_t next_transfer() { return next_transfer_.fetch_add(1, std::memory_order_relaxed); }

  // True if collectives by keys may have members in other tasks' steps. Those steps share one number, by their key
  // (resolve_collective_groups.h), and a task runs one step of a key at a time.
  virtual bool meets_by_key() const { return false; }
  // Waits until the step before it has ended here, and returns the number of the next step of that key. Ends with the
  // reason of `cancellation`.
  virtual Result<std::int64_t> begin_keyed(std::int64_t key, Cancellation& cancellation) {
    (void)key, (void)cancellation;
    return unimplemented("collectives do not meet those of other tasks' steps here");
  }
  // That step has ended, with or without an error.
  virtual void end_keyed(std::int64_t key, std::int64_t step_id, const Status& status) {
    (void)key, (void)step_id, (void)status;
  }

  // True if the task of that device numbers the frames of loops as this one does (frame_keys.h). TensorFlow 1.x does
  // not.
  virtual bool shares_loops(const DeviceName& device) const {
    (void)device;
    return true;
  }

 private:
  std::atomic<std::int64_t> next_transfer_{0};
};

}  // namespace argosy
