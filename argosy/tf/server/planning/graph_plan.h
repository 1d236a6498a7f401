// Plans the training step of a graph file. Internal to the session server and tools.
#pragma once

#include "argosy/planner/planner.h"
#include "argosy/tf/server/planning/graph_step.h"

namespace argosy::tf {

// Returns a plan for the step. `strategy`: automatic, or a given one. Errors are those of make_plan() and of the
// replication of the step.
Result<Plan> plan_graph(GraphStep& step, const DeviceRequest& devices, const StrategySpec& strategy,
                        bool sync_batch_norm, const PlanOptions& how);

}  // namespace argosy::tf
