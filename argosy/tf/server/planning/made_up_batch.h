// A batch for a step of a graph file: what is given, and numbers made up for the rest. Internal to planning/.
#pragma once

#include <vector>

#include "argosy/tf/server/planning/graph_step.h"

namespace argosy::tf {

// By feed: `given` first, as many as there are; then zeros for integers, small numbers for floats, true, or "". Sizes
// that the graph leaves open are `request.batch` where one of a feed's is, or come from `request.shapes`.
// INVALID_ARGUMENT ARG-PLAN-043, ARG-PLAN-044.
Result<std::vector<Tensor>> made_up_batch(const Graph& graph, const std::vector<Value>& feeds,
                                          const std::vector<Tensor>& given, const GraphStepRequest& request);

}  // namespace argosy::tf
