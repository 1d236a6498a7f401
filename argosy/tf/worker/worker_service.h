// WorkerService: implements TensorFlow's service by which a master runs parts of its steps on this task, on messages.
// Its table of RpcMethods is served at a port by GrpcTransport.
//
//   RegisterGraph ─► read_partition ─► TaskGraphs of the master's session
//   RunGraph ──────► values in ─► TaskGraphs::run ─► values out
//                                     │ _Send, _Recv
//   RecvTensor ◄──────────── StepRendezvous ────────► RemoteReceives ─► RecvTensor of another task
//
// Thread-safe. RunGraph keeps its thread until the step has ended; RecvTensor waits without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/tf/worker/collective/task_collectives.h"
#include "argosy/tf/worker/partial_step_runs.h"
#include "argosy/tf/worker/peers/recent_ids.h"
#include "argosy/tf/worker/peers/remote_receives.h"
#include "argosy/tf/worker/run_graph_message.h"
#include "argosy/tf/worker/shared_sessions.h"
#include "argosy/tf/worker/worker_session.h"

namespace argosy::tf {

struct WorkerServiceOptions {
  std::shared_ptr<DeviceSet> device_set;  // this task's, named after it
  std::shared_ptr<Peers> peers;           // its cluster
};

class WorkerService {
 public:
  explicit WorkerService(WorkerServiceOptions options);
  ~WorkerService();  // REQUIRES: no call is under way

  // "/tensorflow.WorkerService/RunGraph" and the others. This object outlives the table.
  std::vector<RpcMethod> methods();
  // Ends every step, for a server that stops.
  void stop();

  // This task's side of steps, for the master in this process, too.
  StepRendezvous& steps() { return *steps_; }
  RemoteReceives& receives() { return receives_; }
  WorkerSessions& sessions() { return sessions_; }
  SharedSessions& shared_sessions() { return shared_; }
  TaskCollectives& collectives() { return *collectives_; }
  // Lets collectives of graphs on these devices, a view of the task's, take part in groups with other tasks' steps.
  void meet_by_key(DeviceSet& devices);
  const std::shared_ptr<DeviceSet>& device_set() const { return options_.device_set; }
  const std::shared_ptr<Peers>& peers() const { return options_.peers; }
  // Forgets a step that has ended on every task.
  void forget(std::int64_t step_id);

 private:
  RpcReply get_status(WireReader request);
  RpcReply create_session(WireReader request);
  RpcReply delete_session(WireReader request);
  RpcReply register_graph(WireReader request, CallContext& context);
  RpcReply deregister_graph(WireReader request);
  RpcReply run_graph(WireReader request, CallContext& context);
  RpcReply cleanup_graph(WireReader request);
  RpcReply cleanup_all(WireReader request);
  RpcReply recv_tensor(WireReader request, CallContext& context);

  Result<std::vector<WirePiece>> run(const RunGraphRequest& request, CallContext& context);
  // The session of a request. Masters that make no sessions share one per handle, while it has graphs. ABORTED
  // "ARG-CLUSTER-012": there is none.
  Result<std::shared_ptr<WorkerSession>> session_of(std::string_view handle, bool called);
  Status check_sender(const RendezvousKey& key) const;
  Status check_device(std::string_view method, const std::string& device, std::uint64_t incarnation) const;

  const WorkerServiceOptions options_;
  RemoteReceives receives_;
  const std::shared_ptr<StepRendezvous> steps_;  // calls that are kept open refer to it
  const std::shared_ptr<TaskCollectives> collectives_;
  WorkerSessions sessions_;
  SharedSessions shared_;
  PartialStepRuns partial_;
  Mutex mutex_;
  RecentIds runs_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
