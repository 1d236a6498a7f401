// Plans the training step of a graph file. Internal to the session server and tools.
#pragma once

#include "argosy/planner/planner.h"
#include "argosy/tf/server/planning/graph_step.h"

namespace argosy::tf {

// `strategy`: automatic, or a given one. Errors are those of make_plan() and of replicating the step.
Result<Plan> plan_graph(GraphStep& step, const DeviceRequest& devices, const StrategySpec& strategy,
                        bool sync_batch_norm, const PlanOptions& how);

}  // namespace argosy::tf
