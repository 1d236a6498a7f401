// Trial runs of a client's step on one device, to measure it. A trial has its own variables, filled with a small
// number, and its own random streams. Internal to the session server.
//
//   the step for one device ─┬─ with the given batch, or a smaller one: rows of the feeds
//                            └─ on the session's devices, without its variables (DeviceSetView::own_resources)
#pragma once

#include <memory>

#include "argosy/planner/plan_subject.h"
#include "argosy/tf/server/replication/advice/client_step_subject.h"

namespace argosy::tf {

// INVALID_ARGUMENT ARG-PLAN-048: a variable's shape is not known before the step runs. Errors are those of compiling.
Result<std::unique_ptr<TrialSteps>> try_step(const Graph& graph, const ClientStep& step, const DeviceSpec& spec,
                                             const std::shared_ptr<DeviceSet>& device_set, bool optimize);

// Returns a node of a step for one device, where no node has copies. NOT_FOUND ARG-SHARD-005: `part` has no such node.
Result<PlannedNode> node_of_one_device(const Graph& part, std::string_view node);

}  // namespace argosy::tf
