// ClusterTasks: the other tasks of a cluster, for one session of this master: implements RemoteTasks over gRPC. The
// tasks may run Argosy or TensorFlow; both get TensorFlow's protocol.
//
//   connect: GetStatus of every task that the session may use ──► devices, incarnations
//            CreateWorkerSession where the session has state or a cluster of its own
//   session: RegisterGraph, RunGraph, CleanupGraph (cluster_task.h); its own `_Recv`s are RecvTensor calls
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/runtime/tasks/remote_task.h"
#include "argosy/tf/worker/worker_service.h"

namespace argosy::tf {

class GrpcTask;

struct ClusterTasksOptions {
  std::string session;                      // the session's handle
  std::vector<std::string> device_filters;  // "/job:ps": only these tasks are used; empty: all
  bool isolate_state = false;
  std::string collective_leader;              // "": the task's own choice
  std::string cluster_def;                    // a serialised ClusterDef instead of the server's cluster; "": none
  std::chrono::milliseconds timeout{60'000};  // for the answers of all tasks
  std::uint64_t master_incarnation = 0;
  std::vector<DeviceSpec> own;  // this task's devices, as the session sees them
};

class ClusterTasks final : public RemoteTasks {
 public:
  // `worker`: this task's; it outlives the result. UNAVAILABLE "ARG-CLUSTER-018" names the tasks that do not answer. If
  // `cancellation` is cancelled, returns its status.
  static Result<std::shared_ptr<ClusterTasks>> connect(WorkerService& worker, ClusterTasksOptions options,
                                                       Cancellation& cancellation);
  ~ClusterTasks() override;  // tells the other tasks that the session is closed

  std::vector<DeviceSpec> devices() const override { return devices_; }
  bool has_kernel(const OpDef& op, const DeviceSpec& device) const override;
  std::uint64_t incarnation(const std::string& device) const override;
  RemoteTask* task(const DeviceName& device) override;
  std::shared_ptr<TaskRendezvous> rendezvous(std::int64_t step_id) override;
  void forget(std::int64_t step_id) override { worker_.forget(step_id); }
  bool meets_by_key() const override { return true; }
  Result<std::int64_t> begin_keyed(std::int64_t key, Cancellation& cancellation) override {
    return worker_.collectives().begin_step(key, cancellation);
  }
  void end_keyed(std::int64_t key, std::int64_t step_id, const Status& status) override {
    worker_.collectives().end_step(key, step_id, status);
  }

  bool shares_loops(const DeviceName& device) const override;

  // True if one of the tasks runs TensorFlow: steps may then have only TensorFlow's ops.
  bool has_foreign_task() const;

 private:
  ClusterTasks(WorkerService& worker, ClusterTasksOptions options, std::shared_ptr<Peers> peers);
  Status find_tasks(Cancellation& cancellation);
  Status open_sessions(Cancellation& cancellation);
  bool is_used(const TaskName& task) const;
  bool opens_sessions() const { return options_.isolate_state || !options_.cluster_def.empty(); }

  WorkerService& worker_;
  const ClusterTasksOptions options_;
  const std::shared_ptr<Peers> peers_;
  std::vector<DeviceSpec> devices_;                      // of the others
  std::map<std::string, std::uint64_t> incarnations_;    // of all, by full name
  std::map<TaskName, std::unique_ptr<GrpcTask>> tasks_;  // the others
};

// Removes the resources of these containers on the tasks that pass the filters; "": TensorFlow's default container.
// Asks all at once. Returns the first error; of a task without an answer: UNAVAILABLE "ARG-CLUSTER-017".
Status cleanup_all(Peers& peers, const std::vector<std::string>& device_filters,
                   const std::vector<std::string>& containers, std::chrono::milliseconds timeout);

}  // namespace argosy::tf
