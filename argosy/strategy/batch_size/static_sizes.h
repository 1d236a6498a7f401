// Sizes that are the same for a batch of any size. Internal to strategy/.
#pragma once

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// What a graph computes from the batch's shape and is the same for any batch becomes a constant: a shard without
// examples would find something else, the number of rows over the number of rows, and divide by it. The graph grows.
// True: some such sizes stay as they are, and a shard needs examples to look them up in.
Result<bool> make_sizes_static(Graph& graph, const BatchAxes& axes);

// A Squeeze without axes is told which have size 1, where that is known: else it would take the batch's away from a
// shard of one example. True: there are such, and a batch of one example would keep an axis that it should not.
bool make_squeezes_static(Graph& graph, const BatchAxes& axes);

}  // namespace argosy
