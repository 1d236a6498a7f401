// Makes a graph with a static batch size dynamic, so that shards may be smaller than the batch. Internal to strategy/.
//
// `tf.placeholder(tf.float32, [32, 784])` fixes the size 32. Python then writes 32 into shapes of Reshape and Fill,
// initial states, labels and gradients of means. Here these constants become nodes that follow the batch size.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Does nothing if the first size of every input is open already. Otherwise:
// - Shapes are inferred for another batch size.
// - Where they do not fit together, a constant that was written for the old size is made to follow the batch.
// - These are constants in shapes, and values that meet the batch's rows and are the same in every step.
// - At the old size the graph computes what it computed before. Afterwards the sizes of the inputs are open, and so are
//   the sizes that follow them.
//
// `inputs`: nodes whose output 0 has the batch as axis 0; values that must be sharded like them are added. `roots`:
// only nodes that these need are considered. `losses`: gradients of means on the way to these are found by name
// ("gradients/loss/Mean_grad/…" belongs to "loss/Mean"). A mean without one is an error.
//
// INVALID_ARGUMENT "ARG-DP-010" names a node that cannot follow.
Status make_batch_dynamic(Graph& graph, std::vector<NodeId>& inputs, const std::vector<NodeId>& roots,
                          const std::vector<NodeId>& losses);

}  // namespace argosy
