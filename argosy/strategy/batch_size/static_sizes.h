// Folds sizes that do not depend on the batch size. Internal to strategy/.
#pragma once

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// Replaces sizes that are computed from the batch's shape, and are the same for every batch, by constants. A shard
// without examples would compute another size (rows / rows) and divide by zero. The graph grows. Returns true if some
// such sizes stay as they are; then every shard needs examples.
Result<bool> make_sizes_static(Graph& graph, const BatchAxes& axes);

// Gives a Squeeze without axes the axes of size 1 that are known. Otherwise it would remove the batch axis of a shard
// with one example. Returns true if there is such a Squeeze: a batch of one example would keep an axis that it should
// lose.
bool make_squeezes_static(Graph& graph, const BatchAxes& axes);

}  // namespace argosy
