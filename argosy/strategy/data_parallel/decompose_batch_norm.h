// Decomposes fused batch normalisation into plain ops. Its statistics are then ordinary means, which can be made global
// (argosy/sharding). Internal to strategy/.
//
//   FusedBatchNorm       mean = Mean(x), variance = Mean((x - mean)^2); no gradient flows through either
//                        y = (x - mean) / sqrt(variance + epsilon) * scale + offset
//   FusedBatchNormGrad   n = (x - mean) / sqrt(variance + epsilon)
//                        dx = scale / sqrt(variance + epsilon) * (dy - Mean(dy) - n * Mean(dy * n))
//
// Formulas: Ioffe and Szegedy, Batch Normalization, 2015. The four means are the sums over shards.
#pragma once

#include <map>

#include "argosy/graph/graph.h"

namespace argosy {

// By output of a fused node: the output that is read instead. The fused nodes stay in the graph, unread.
using Replaced = std::map<Endpoint, Endpoint>;

// Decomposes every fused norm in training and its gradient, but for those in loops.
Result<Replaced> decompose_batch_norms(Graph& graph);

// Outside of training a fused norm gives the mean and the variance that it was given. Whoever reads them reads what was
// given, which all shards have: of an empty shard the op gives NaN. The fused nodes stay, for their first output. REQUIRES:
// examples have elements.
Result<Replaced> pass_on_given_statistics(Graph& graph);

}  // namespace argosy
