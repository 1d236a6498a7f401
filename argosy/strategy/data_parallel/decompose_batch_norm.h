// Decomposes fused batch normalisation into plain ops. Its statistics are then ordinary means, which can be made global
// (argosy/sharding). Internal to strategy/.
//
//   FusedBatchNorm       mean = Mean(x), variance = Mean((x - mean)^2); no gradient flows through either
//                        y = (x - mean) / sqrt(variance + epsilon) * scale + offset
//   FusedBatchNormGrad   n = (x - mean) / sqrt(variance + epsilon)
//                        dx = scale / sqrt(variance + epsilon) * (dy - Mean(dy) - n * Mean(dy * n))
//
// Formulas: Ioffe and Szegedy, Batch Normalization, 2015. The four means become sums over shards.
// So do the gradients of scale and offset.
#pragma once

#include <map>

#include "argosy/graph/graph.h"

namespace argosy {

// Maps an output of a fused node to the output that is read instead.
using Replaced = std::map<Endpoint, Endpoint>;

// Decomposes every fused norm in training and its gradient, except in loops. The fused nodes stay in the graph, unread.
Result<Replaced> decompose_batch_norms(Graph& graph);

// Outside of training a fused norm outputs the mean and the variance that it has as inputs. Connects readers of these
// outputs to copies of the inputs, which all shards have: on an empty shard the op outputs NaN. The fused nodes stay,
// for their first output. REQUIRES: examples have elements.
Result<Replaced> pass_on_given_statistics(Graph& graph);

}  // namespace argosy
