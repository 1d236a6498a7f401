// StepAdvisor: asks the cost model whether a session's training step is faster on all its GPUs or on one, before its
// first replicated run. Internal to the session server.
//
//   step, one batch ─► ClientStepSubject ─► make_plan (argosy/planner) ─► seconds on one GPU, seconds on all ─► Advice
//
// It predicts only where that is meaningful: for real GPUs, for emulated ones with a link speed, and for every step
// that all-gathers examples. All-reduces between emulated GPUs without a link speed cost nothing in the model.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/planner/machine_rates.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/server/replication/advice/client_step_subject.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/replication/replicated_step.h"

namespace argosy::tf {

struct Advice {
  bool one_device = false;         // the step is predicted to be faster on one device
  std::optional<StepTimes> times;  // nullopt: nothing was predicted
  std::string why;                 // why the prediction failed; "": it did not, or was not attempted
  double seconds = 0;              // duration of the prediction
};

// Not thread-safe.
class StepAdvisor {
 public:
  StepAdvisor(std::shared_ptr<DeviceSet> device_set, ReplicationOptions how);

  // Predicts the step's times. `graph` must not change meanwhile. Takes about half a second; the first call of a
  // session takes some 0.2 s more.
  Advice ask(const Graph& graph, const ClientStep& step, const DataParallel& replicated);

 private:
  bool means_something(const DataParallel& replicated) const;
  Result<Advice> predict(const Graph& graph, const ClientStep& step);

  const std::shared_ptr<DeviceSet> device_set_;
  const ReplicationOptions how_;
  std::vector<DeviceSpec> gpus_;
  std::optional<MachineRates> rates_;  // nullopt: not measured yet
};

}  // namespace argosy::tf
