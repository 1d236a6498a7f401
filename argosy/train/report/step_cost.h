// The arithmetic and memory traffic of a training step, by the cost functions of its ops (OpDef::cost). `argosy bench`
// compares them with the limits of the machine.
#pragma once

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// Returns the cost of one node, at the shapes that the graph knows. An unknown size counts as one.
Cost node_cost(const Graph& graph, const Node& n);
// Returns the cost over all devices, for a global batch of this size. An unknown size counts as one.
Result<Cost> step_cost(CompiledModel& program, std::int64_t batch);

}  // namespace argosy
