// StepSubject: a client's training step and one batch for it, to the planner. It tries the step out with variables of
// its own, so nothing of the client changes. Internal to the session server.
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
struct SubjectStep {
  StepValues values;             // what brings the batch is among the feeds
  std::vector<Endpoint> losses;  // whose gradients it follows
  std::vector<Tensor> feeds;     // one batch
  std::vector<int> axes;         // by feed: the axis of its examples, or -1; at least one has some
};

class StepSubject final : public PlanSubject {
 public:
  // All outlive it, and what it makes. `graph` stays as it is meanwhile. `device_set`: of the session.
  StepSubject(const Graph& graph, const SubjectStep& step, const ReplicationOptions& how,
              std::shared_ptr<DeviceSet> device_set);

  std::int64_t batch() const override { return batch_; }
  Result<std::unique_ptr<CompiledCandidate>> compile(const Candidate& candidate,
                                                     const std::shared_ptr<DeviceSet>& device_set) override;
  // FAILED_PRECONDITION ARG-PLAN-047: an op of the step must not run on trial.
  Result<std::unique_ptr<TrialSteps>> on_one_device(const DeviceSpec& spec) override;
  Result<double> input_seconds(double) override { return 0.0; }  // the batch is there

 private:
  const Graph& graph_;
  const SubjectStep& step_;
  const ReplicationOptions how_;
  const std::shared_ptr<DeviceSet> device_set_;
  std::int64_t batch_ = 0;
};

// "'q' (QueueDequeueV2) has effects …": a node that must not run on trial; "": there is none.
std::string not_for_trial(const StepGraph& step);

}  // namespace argosy::tf
