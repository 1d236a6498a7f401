// A client's step on one device, run on trial: with variables of its own, filled with a small number, and random streams
// of its own. Internal to the session server.
//
//   the step for one device ─┬─ at the batch that was given, or any smaller one: rows of the feeds
//                            └─ devices of the session, without its variables (DeviceSetView::own_resources)
#pragma once

#include <memory>

#include "argosy/planner/plan_subject.h"
#include "argosy/tf/server/replication/advice/step_subject.h"

namespace argosy::tf {

// INVALID_ARGUMENT ARG-PLAN-048: a variable's shape is not known before the step runs. Errors are those of compiling.
Result<std::unique_ptr<TrialSteps>> try_step(const Graph& graph, const SubjectStep& step, const DeviceSpec& spec,
                                             const std::shared_ptr<DeviceSet>& device_set, bool optimize);

// Where a node is that nothing has copied. NOT_FOUND ARG-SHARD-005: `part` has none of that name.
Result<PlannedNode> node_of_one_device(const Graph& part, std::string_view node);

}  // namespace argosy::tf
