// ClientSession: one session of one client: its imported graph, the engine's Session over it, and its resolved steps.
//
//   RunStep ──► resolved (one lookup per signature) ──► StepRunner ──► Session, or Replication
//   RunStep of a partial run ──► PartialRuns           RunCallable ──► CallableTable ──► StepRunner
//
// Thread-safe: many calls may run at once, and some may block for ever. Independent of the transport.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/rpc/transport/call_context.h"
#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/replication/replication.h"
#include "argosy/tf/server/service/session_lease.h"
#include "argosy/tf/server/session/callable_table.h"
#include "argosy/tf/server/session/client_session_options.h"
#include "argosy/tf/server/session/interruptible_calls.h"
#include "argosy/tf/server/session/partial_runs.h"
#include "argosy/tf/server/session/resolved_step.h"
#include "argosy/tf/server/session/step_request.h"
#include "argosy/tf/server/session/step_runner.h"
#include "argosy/tf/worker/peers/recent_ids.h"

namespace argosy::tf {

class ClientSession {
 public:
  using Options = ClientSessionOptions;
  // INVALID_ARGUMENT: a malformed graph; a device that does not exist, without soft placement.
  static Result<std::shared_ptr<ClientSession>> create(Options options, std::string_view graph_def);
  ~ClientSession();

  // Every call below ends early, also while it converts nodes and functions:
  // * when the call is cancelled;
  // * after the timeout of its RunOptions, else of the session's config (DEADLINE_EXCEEDED);
  // * with close() (CANCELLED).

  // Adds a GraphDef. Returns the graph's new version. ABORTED: `current` is not its present version.
  Result<std::int64_t> extend(std::string_view graph_def, std::int64_t current, CallContext& call);

  // Returns a RunStepResponse without status.
  Result<std::vector<WirePiece>> run_step(const StepRequest& request, CallContext& call);

  // Returns the handle by which the RunSteps of the partial run name it.
  Result<std::string> set_up_partial_run(const StepNames& names, std::int64_t request_id, CallContext& call);

  // Returns the callable's handle.
  Result<std::int64_t> make_callable(const tensorflow::CallableOptions& options, std::int64_t request_id,
                                     CallContext& call);
  // Returns a RunCallableResponse.
  Result<std::vector<WirePiece>> run_callable(const CallRequest& request, CallContext& call);
  Status release_callable(std::int64_t handle) { return callables_.release(handle); }

  std::vector<DeviceSpec> devices() const { return options_.device_set->specs(); }  // of this task
  std::vector<DeviceSpec> other_devices() const {                                   // of the other tasks
    return options_.tasks != nullptr ? options_.tasks->devices() : std::vector<DeviceSpec>();
  }

  // Ends every running call (CANCELLED). Does not wait. Idempotent.
  void begin_close();
  // Calls begin_close() and waits for the runs. DEADLINE_EXCEEDED: one is stuck. Idempotent.
  Status close();

  const std::string& handle() const { return options_.handle; }
  const SessionConfig& config() const { return options_.config; }
  SessionLease& lease() { return lease_; }
  const SessionLease& lease() const { return lease_; }

 private:
  explicit ClientSession(Options options);

  Result<std::shared_ptr<ResolvedStep>> resolved(const StepRequest& request, CallContext& call);
  // If steps are replicated over tasks: errors of too_few_gpus(), StrategySpec::check() and check_own_state().
  Status check_replicas(std::string_view graph_def) const;
  // Records a request id. ABORTED: the id has been used before (a client's retry).
  Status new_request(std::int64_t id, std::string_view method);

  const Options options_;
  const TensorWire wire_;
  ImportedGraph graph_;  // changes inside session_.mutate_graph() only
  const std::unique_ptr<Session> session_;
  const std::unique_ptr<Replication> replication_;  // null: steps run as they are
  StepRunner runner_;
  InterruptibleCalls calls_;
  PartialRuns partial_runs_;
  CallableTable callables_;
  SessionLease lease_;

  Mutex mutex_;
  std::int64_t version_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::shared_ptr<ResolvedStep>> steps_ ARGOSY_GUARDED_BY(mutex_);
  RecentIds recent_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
