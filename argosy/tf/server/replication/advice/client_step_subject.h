// ClientStepSubject: presents a client's training step, with one batch, to the planner. Trial runs use variables of their
// own, so the client's state does not change. Internal to the session server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/passes/simplify/prune.h"
#include "argosy/planner/plan_subject.h"
#include "argosy/tf/server/replication/replication_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// A step as a client wrote it, for one device.
struct ClientStep {
  StepValues values;             // the batch's sources (TrainingStep::sources) are among the feeds
  std::vector<Endpoint> losses;  // the losses whose gradients it follows
  std::vector<Tensor> feeds;     // one batch
  std::vector<int> axes;         // by feed: the batch axis, or -1; at least one feed has one
};

class ClientStepSubject final : public PlanSubject {
 public:
  // All arguments outlive this object and the objects that it makes; `graph` does not change. `device_set`: the
  // session's.
  ClientStepSubject(const Graph& graph, const ClientStep& step, const ReplicationOptions& how,
                    std::shared_ptr<DeviceSet> device_set);

  std::int64_t batch() const override { return batch_; }
  Result<std::unique_ptr<CompiledCandidate>> compile(const Candidate& candidate,
                                                     const std::shared_ptr<DeviceSet>& device_set) override;
  // FAILED_PRECONDITION ARG-PLAN-047: a trial must not run an op of the step.
  Result<std::unique_ptr<TrialSteps>> on_one_device(const DeviceSpec& spec) override;
  Result<double> input_seconds(double) override { return 0.0; }  // the batch is in memory

 private:
  const Graph& graph_;
  const ClientStep& step_;
  const ReplicationOptions how_;
  const std::shared_ptr<DeviceSet> device_set_;
  std::int64_t batch_ = 0;
};

// Describes a node that a trial must not run: "'q' (QueueDequeueV2) has effects …"; "": there is none.
std::string not_for_trial(const StepGraph& step);

}  // namespace argosy::tf
