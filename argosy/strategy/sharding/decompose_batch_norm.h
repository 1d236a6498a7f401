// Fused batch normalisation, written out as ops of its own: its statistics are then means like others, which shards can
// have of the global batch (cross_example_stats.h). Internal to strategy/.
//
//   FusedBatchNorm       mean = Mean(x), variance = Mean((x - mean)^2), neither of which gradients flow through;
//                        y = (x - mean) / sqrt(variance + epsilon) * scale + offset
//   FusedBatchNormGrad   n = (x - mean) / sqrt(variance + epsilon);
//                        dx = scale / sqrt(variance + epsilon) * (dy - Mean(dy) - n * Mean(dy * n))
//
// (Ioffe and Szegedy, Batch Normalization, 2015.) The four means are what has to be summed over shards.
#pragma once

#include <map>

#include "argosy/graph/graph.h"

namespace argosy {

// What is read in place of an output. Of those that are no longer read: the fused nodes themselves stay.
using Replaced = std::map<Endpoint, Endpoint>;

// All that normalise in training, and their gradients. UNIMPLEMENTED ARG-DP-007, naming the node: one is in a loop,
// whose nodes cannot be added to.
Result<Replaced> decompose_batch_norms(Graph& graph);

}  // namespace argosy
