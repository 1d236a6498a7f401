// Makes a batch for a step of a graph file: given values, and made-up ones for the other feeds. Internal to planning/.
#pragma once

#include <vector>

#include "argosy/tf/server/planning/graph_step.h"

namespace argosy::tf {

// Returns a value for each feed. The first feeds get the values in `given`. Others are made up: zeros for integers,
// small numbers for floats, true, or "". Their shapes are those of `request.shapes`, else the graph's. A single unknown
// size in a shape becomes the batch size, `request.batch` or kBatch. INVALID_ARGUMENT ARG-PLAN-043: a shape has more
// unknown sizes. ARG-PLAN-044: a given shape or dtype does not agree.
Result<std::vector<Tensor>> made_up_batch(const Graph& graph, const std::vector<Value>& feeds,
                                          const std::vector<Tensor>& given, const GraphStepRequest& request);

}  // namespace argosy::tf
