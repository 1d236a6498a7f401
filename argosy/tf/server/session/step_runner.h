// StepRunner: runs a session's resolved steps under a deadline, counts their work and fills in RunMetadata.
#pragma once

#include <vector>

#include "argosy/rpc/transport/call_context.h"
#include "argosy/tf/server/replication/replication.h"
#include "argosy/tf/server/session/client_session_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace tensorflow {
class RunMetadata;
class RunOptions;
}  // namespace tensorflow

namespace argosy::tf {

// Thread-safe. The constructor's arguments outlive it.
class StepRunner {
 public:
  // `replication` null: steps are not replicated.
  StepRunner(const ClientSessionOptions& options, Session& session, ImportedGraph& graph, Replication* replication)
      : options_(options), session_(session), graph_(graph), replication_(replication) {}

  // Arranges that the call is cancelled with DEADLINE_EXCEEDED after the timeout of `options`, else that of the
  // session's config; if neither has one, never. RESOURCE_EXHAUSTED as from Deadlines::add.
  Status set_deadline(const tensorflow::RunOptions& options, Cancellation& cancellation, Deadline& deadline) const;

  // Runs a step and returns the fetched tensors, in the order of its fetches. `deadline`: the call's, removed after the
  // run. `errors_in_body`: a stuck step's error is sent inside the response. `metadata` may be null.
  Result<std::vector<Tensor>> run(ResolvedStep& step, std::vector<Tensor> feeds, const tensorflow::RunOptions& options,
                                  CallContext& call, Deadline& deadline, bool errors_in_body,
                                  tensorflow::RunMetadata* metadata);

 private:
  std::int64_t timeout_ms(const tensorflow::RunOptions& options) const;
  Status fill_metadata(const ResolvedStep& step, const tensorflow::RunOptions& options, const StepStats& stats,
                       const std::vector<Tensor>& feeds, tensorflow::RunMetadata& to);

  const ClientSessionOptions& options_;
  Session& session_;
  ImportedGraph& graph_;
  Replication* const replication_;
};

}  // namespace argosy::tf
