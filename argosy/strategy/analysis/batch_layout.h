// Describes where the examples of a batch lie in a tensor. Internal to strategy/.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/graph/node.h"

namespace argosy {

struct BatchLayout {
  int axis = -1;                 // the batch axis; below 0: none, or not known (BatchAxes)
  std::int64_t outer = 1;        // product of the sizes of the axes before it
  std::int64_t per_example = 0;  // elements of that axis per example; 0: not an integer
  std::int64_t repeats = 0;      // how often the batch repeats along it: BatchAxes::repeats()
};

// Returns the repeats of an output of n, given the layouts of its inputs that have a batch axis.
// - An op that keeps an example's rows keeps the repeats.
// - A reshape keeps the product of `outer` and `repeats`.
// - 0: not known, or a cross-example op.
std::int64_t repeats_of(const Node& n, const std::vector<BatchLayout>& inputs, const BatchLayout& output);

}  // namespace argosy
