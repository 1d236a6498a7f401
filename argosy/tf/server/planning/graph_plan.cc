#include "argosy/tf/server/planning/graph_plan.h"

#include "argosy/tf/server/replication/advice/client_step_subject.h"

namespace argosy::tf {

Result<Plan> plan_graph(GraphStep& step, const DeviceRequest& devices, const StrategySpec& strategy,
                        bool sync_batch_norm, const PlanOptions& how) {
  PlanRequest request{.strategy = strategy};
  ARGOSY_ASSIGN_OR_RETURN(request.devices, chosen_devices(devices));
  ARGOSY_ASSIGN_OR_RETURN(request.device_set, DeviceSet::make(devices));
  ClientStepSubject subject(step.graph(), step.subject(), {.sync_batch_norm = sync_batch_norm}, request.device_set);
  return make_plan(subject, request, how);
}

}  // namespace argosy::tf
