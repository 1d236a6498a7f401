// Graphs written for batches of one size: tf.placeholder(tf.float32, [32, 784]). Python has written that size into
// shapes of Reshape and Fill, into first states, labels, gradients of means. Here they learn to follow the batch, so
// that shards of it may be smaller. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Does nothing where the first size of every input is open. Else the shapes are inferred for another size of batch, and
// where they do not fit together, what was written for the old one is made to follow: constants in shapes, values that
// meet the batch's rows and are the same in every step. For the old size the graph computes what it did. The sizes of
// the inputs, and of all that follows them, are open afterwards.
//
// `inputs`: nodes whose output 0 has the batch as axis 0; values that have to be sharded like them are added.
// `roots`: what they lead to is looked at. `losses`: gradients of means on the way to these are known by their names,
// which gradients() and tf.gradients give alike, "gradients/loss/Mean_grad/…" to that of "loss/Mean"; one that is not
// found is an error. INVALID_ARGUMENT "ARG-DP-010" names a node that cannot follow.
Status make_batch_dynamic(Graph& graph, std::vector<NodeId>& inputs, const std::vector<NodeId>& roots,
                          const std::vector<NodeId>& losses);

}  // namespace argosy
