// Dataflow control flow: the primitives that executors run. Dead values, frames and iterations are the executor's
// (OpDef::flow); cond() and while_loop() in functional.h are what users write.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/ops/control_flow/functional.h"

namespace argosy {

// (output_false, output_true): `data` comes out where `pred` says; the other output is dead.
std::pair<Value, Value> switch_value(Value data, Value pred, std::string_view name = "Switch");
// The one input that is not dead; output 1 says which (int32).
Value merge(const std::vector<Value>& inputs, std::string_view name = "Merge");

}  // namespace argosy
