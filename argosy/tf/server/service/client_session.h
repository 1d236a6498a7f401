// One session of one client: its graph as it came, the engine's Session over it, and the steps it has asked for.
// Thread-safe: many runs at once, some of which wait for ever. Knows messages, not transports.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/rpc/transport/call_context.h"
#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/runtime/machine/deadlines.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/replication/replication.h"
#include "argosy/tf/server/service/resolved_step.h"
#include "argosy/tf/server/service/session_config.h"
#include "argosy/tf/server/service/step_request.h"
#include "argosy/tf/server/service/stuck_steps.h"
#include "argosy/tf/server/service/work_totals.h"

namespace tensorflow {
class CallableOptions;
class ListDevicesResponse;
class RunMetadata;
class RunOptions;
}  // namespace tensorflow

namespace argosy::tf {

// A RunStepResponse that holds an error, for clients that want it there.
std::vector<WirePiece> error_response(const Status& error);

class PartialRun;

class ClientSession {
 public:
  struct Options {
    std::string handle;
    SessionConfig config;
    std::shared_ptr<DeviceSet> device_set;         // the session's own view of the server's devices
    std::int64_t feed_limit = 1ll << 33;           // bytes of one fed tensor
    Deadlines* deadlines = nullptr;                // outlives the session
    WorkCounter* work = nullptr;                   // likewise; null: steps are not measured
    StuckSteps* stuck = nullptr;                   // likewise
    std::chrono::milliseconds stuck_after{10000};  // SessionOptions::stuck_after
    ReplicaCounter* replicas = nullptr;  // likewise; given: training steps are replicated over all GPUs of the session
    bool sync_batch_norm = false;        // of those
    int check = 0;                       // so many runs of each also run on one device, and are compared
  };
  // INVALID_ARGUMENT: a malformed graph; a device that is not there, without soft placement.
  static Result<std::shared_ptr<ClientSession>> create(Options options, std::string_view graph_def);
  ~ClientSession();

  // ABORTED when `current` is not the graph's version. Returns the new one.
  Result<std::int64_t> extend(std::string_view graph_def, std::int64_t current);

  // A RunStepResponse without status.
  Result<std::vector<WirePiece>> run_step(const StepRequest& request, CallContext& call);

  // Names are copied. Returns the handle by which its RunSteps name it.
  Result<std::string> set_up_partial_run(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                         const std::vector<std::string>& targets, std::int64_t request_id);

  Result<std::int64_t> make_callable(const tensorflow::CallableOptions& options, std::int64_t request_id);
  // A RunCallableResponse.
  Result<std::vector<WirePiece>> run_callable(const CallRequest& request, CallContext& call);
  Status release_callable(std::int64_t handle);

  void list_devices(tensorflow::ListDevicesResponse& to) const;

  // Ends every run under way (CANCELLED) and waits for them; DEADLINE_EXCEEDED where one is stuck. Idempotent.
  Status close();

  const std::string& handle() const { return options_.handle; }
  const SessionConfig& config() const { return options_.config; }
  // For leases: how long ago the last call ended; zero while one is under way.
  std::chrono::nanoseconds idle() const;
  // Told at each call who makes it, for orphaned(): the last one counts.
  void called_by(CallContext& call);
  // Whether its client has been gone for `lease`, and no call is under way. A connection that had been idle for so long
  // that gRPC's clients close it themselves, and make a new one for the next call, gets a day.
  bool orphaned(std::chrono::nanoseconds lease) const;

 private:
  class Busy;
  class StuckCall;
  struct MadeCallable;

  explicit ClientSession(Options options);

  Result<std::shared_ptr<ResolvedStep>> prepared(const StepRequest& request, CallContext& call);
  Result<std::vector<Tensor>> run(ResolvedStep& step, std::vector<Tensor> feeds, const tensorflow::RunOptions& options,
                                  CallContext& call, bool errors_in_body, tensorflow::RunMetadata* metadata);
  Result<std::vector<WirePiece>> run_partially(const StepRequest& request, CallContext& call);
  Status new_request(std::int64_t id, std::string_view method);
  Status fill_metadata(const ResolvedStep& step, const tensorflow::RunOptions& options, const StepStats& stats,
                       const std::vector<Tensor>& feeds, tensorflow::RunMetadata& to);

  const Options options_;
  TensorWire wire_;
  ImportedGraph graph_;  // changes inside session_.mutate_graph() only
  std::unique_ptr<Session> session_;
  std::unique_ptr<Replication> replication_;  // null: steps run as they are

  Mutex mutex_;
  std::int64_t version_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::shared_ptr<ResolvedStep>> steps_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::shared_ptr<MadeCallable>> callables_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_callable_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<std::string, std::shared_ptr<PartialRun>, std::less<>> partial_runs_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_partial_ ARGOSY_GUARDED_BY(mutex_) = 0;
  RecentIds recent_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<int> busy_{0};
  std::atomic<std::int64_t> last_end_;
  mutable Mutex client_mutex_;
  std::shared_ptr<const ClientLink> client_ ARGOSY_GUARDED_BY(client_mutex_);
};

}  // namespace argosy::tf
