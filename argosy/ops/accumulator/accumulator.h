// Accumulators: sums of the gradients of many workers, taken as a mean or a sum once enough have arrived. A gradient
// computed before the accumulator's current step is stale, and is dropped. With a queue of tokens they make up
// synchronous training on parameter servers.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// The attributes of an accumulator.
struct AccumulatorSpec {
  DType dtype = DType::kFloat32;  // of the gradients
  PartialShape shape = {};        // of the gradients; unknown: the first one's
  bool sum = false;               // take the sum, not the mean
  std::string shared_name = {};   // "": the node's name; equal names share the accumulator
};

Value accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name = {});  // For dense gradients.
// For sparse gradients (IndexedSlices): indices and rows of values.
Value sparse_accumulator(Graph& graph, const AccumulatorSpec& spec, std::string_view name = {});

Value accumulator_apply(Value accumulator, Value local_step, Value gradient);  // a control value
// Waits for `num_required` gradients. Returns the mean or sum of all that have arrived, clears the accumulator, and
// increments its step.
Value accumulator_take(Value accumulator, Value num_required, DType dtype);
Value accumulator_count(Value accumulator);                 // how many gradients it holds; int32 scalar
Value accumulator_set_step(Value accumulator, Value step);  // a control value

}  // namespace argosy
