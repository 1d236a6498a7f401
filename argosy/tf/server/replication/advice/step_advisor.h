// StepAdvisor: asks the cost model whether a session's training step is faster on all its GPUs or on one, before its
// first replicated run. Internal to the session server.
//
//   step, one batch ─► StepSubject ─► make_plan (argosy/planner) ─► seconds on one GPU, seconds on all ─► Advice
//
// It is asked where the answer means something: of GPUs that are real, or emulated with a link speed; and of every step
// that gathers examples. Sums between emulated GPUs without a link are free, so a step that only sums is not asked about.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/planner/machine_rates.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/server/replication/advice/step_subject.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/replication/replicated_step.h"

namespace argosy::tf {

struct Advice {
  bool one_device = false;         // it is faster there
  std::optional<StepTimes> times;  // nothing: it was not asked, or could not tell
  std::string why;                 // it could not tell; "": it could, or was not asked
  double seconds = 0;              // that asking took
};

// One thread at a time.
class StepAdvisor {
 public:
  StepAdvisor(std::shared_ptr<DeviceSet> device_set, ReplicationOptions how);

  // Call it where `graph` stays as it is. Takes about half a second; the first time in a session, some 0.2 s more.
  Advice ask(const Graph& graph, const SubjectStep& step, const DataParallel& replicated);

 private:
  bool means_something(const DataParallel& replicated) const;
  Result<Advice> predict(const Graph& graph, const SubjectStep& step);

  const std::shared_ptr<DeviceSet> device_set_;
  const ReplicationOptions how_;
  std::vector<DeviceSpec> gpus_;
  std::optional<MachineRates> rates_;  // nothing: not measured yet
};

}  // namespace argosy::tf
