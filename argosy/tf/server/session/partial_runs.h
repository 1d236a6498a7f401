// PartialRuns: a session's partial runs by handle. PartialRunSetup makes one, RunSteps that name it go on with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/rpc/transport/call_context.h"
#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/tf/server/replication/replication.h"
#include "argosy/tf/server/session/client_session_options.h"
#include "argosy/tf/server/session/partial_run.h"
#include "argosy/tf/server/session/step_request.h"

namespace argosy::tf {

// Thread-safe. Everything given to it outlives it.
class PartialRuns {
 public:
  // `replication` null: steps are not replicated. Partial runs never are, but it must know that they write variables.
  PartialRuns(const ClientSessionOptions& options, Session& session, ImportedGraph& graph, Replication* replication)
      : options_(options), session_(session), graph_(graph), replication_(replication) {}

  static constexpr std::size_t kMostOpen = 256;

  // Makes a partial run and returns its handle. RESOURCE_EXHAUSTED "ARG-RPC-010": kMostOpen are not over yet.
  Result<std::string> set_up(const StepNames& names) ARGOSY_EXCLUDES(mutex_);
  // Returns a RunStepResponse without status. INVALID_ARGUMENT: there is no such partial run, or it is over. If the
  // call was cancelled, returns the cancellation's status.
  Result<std::vector<WirePiece>> run(const StepRequest& request, const TensorWire& wire, CallContext& call)
      ARGOSY_EXCLUDES(mutex_);
  // Ends the running calls. Does not wait.
  void begin_close() ARGOSY_EXCLUDES(mutex_);
  // Ends and removes all partial runs. DEADLINE_EXCEEDED: a call is stuck.
  Status close() ARGOSY_EXCLUDES(mutex_);

 private:
  Result<std::shared_ptr<PartialRun>> make(const StepNames& names);
  Result<std::shared_ptr<PartialRun>> find(std::string_view handle);

  const ClientSessionOptions& options_;
  Session& session_;
  ImportedGraph& graph_;
  Replication* const replication_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<PartialRun>, std::less<>> runs_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t setting_up_ ARGOSY_GUARDED_BY(mutex_) = 0;  // partial runs being made, not in runs_ yet
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::tf
