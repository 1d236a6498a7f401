// Dataflow control flow: Switch, Merge and the like, which executors run. The executor handles dead values, frames and
// iterations (OpDef::flow). Users write cond() and while_loop() of functional.h.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/ops/control_flow/functional.h"

namespace argosy {

// Returns (output_false, output_true). `data` comes out where `pred` says; the other output is dead.
std::pair<Value, Value> switch_value(Value data, Value pred, std::string_view name = "Switch");
// Returns the one input that is not dead. Output 1 is its index (int32).
Value merge(const std::vector<Value>& inputs, std::string_view name = "Merge");

}  // namespace argosy
