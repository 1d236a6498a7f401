// Accumulators: gradients of many workers added up under a lock, taken as their mean or sum once there are enough.
// Gradients that were computed before the accumulator's step are dropped. What synchronous training with parameter
// servers is made of, together with a queue of tokens.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// What an accumulator holds.
struct AccumulatorSpec {
  DType dtype = DType::kFloat32;  // of the gradients
  PartialShape shape = {};        // of the gradients; unknown: that of the first
  bool sum = false;               // instead of the mean
  std::string shared_name = {};   // "": the node's name; equal names share the accumulator
};

Value accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name = {});  // For dense gradients.
// For gradients that are rows of something: indices and values.
Value sparse_accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name = {});

Value accumulator_apply(Value accumulator, Value local_step, Value gradient);  // a control value
// Waits for `num_required` gradients; then they are gone, and the accumulator's step is one more.
Value accumulator_take(Value accumulator, Value num_required, DType dtype);
Value accumulator_count(Value accumulator);                 // how many gradients it holds; int32 scalar
Value accumulator_set_step(Value accumulator, Value step);  // a control value

}  // namespace argosy
