// Where the examples of a batch lie in a tensor. Internal to strategy/.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/graph/node.h"

namespace argosy {

struct BatchLayout {
  int axis = -1;                 // which the batch is on; below 0: none, or not told
  std::int64_t outer = 1;        // elements of the axes before it, all together
  std::int64_t per_example = 0;  // elements of that axis for every example; 0: not an integer
  std::int64_t repeats = 0;      // how many times the batch repeats along it: BatchAxes::repeats()
};

// The repeats of an output of n, computed from `inputs` that are on an axis: as along theirs, where every example keeps
// its rows. Where the same memory is looked at in another shape, what repeats in the axes before it and in it stays
// as often in all. 0: cannot be told, or examples are mixed.
std::int64_t repeats_of(const Node& n, const std::vector<BatchLayout>& inputs, const BatchLayout& output);

}  // namespace argosy
