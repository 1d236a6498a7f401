// Finds normalisation by batch statistics. Each shard uses its own statistics, so the replicated step differs from one
// device's step by design, unless DataParallelOptions::sync_batch_norm is set.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

// Returns the nodes that normalise by the batch, in their order:
// - FusedBatchNorm and its gradient, in training;
// - the means of tf.nn.moments along axis 0, or along axes that are not known, where rows meet their deviation.
//
// Moments along other axes belong to one example (layer norm) and do not count. Nor do those that a loss only compares.
// `losses`: of the graph, to tell its gradients apart; empty: not known, and gradients count as uses.
std::vector<NodeId> batch_statistics(const Graph& graph, const std::vector<Endpoint>& losses = {});

// Where shards keep statistics of their own. Moments that nothing is trained through are the global batch's. The
// gradients: what updates of the variables behind the losses are computed from, and the losses are not. `order`: a
// topological one.
LocalStatistics local_statistics(const Graph& graph, const std::vector<NodeId>& order,
                                 const std::vector<Endpoint>& losses);

// True if rows on the way to a loss are computed with a number of the global batch that training goes through: the mean
// that normalises advantages. `order`: a topological one.
bool trains_through_global_values(const Graph& graph, const std::vector<NodeId>& order, const Assignment& assignment,
                                  const std::vector<Endpoint>& losses);

}  // namespace argosy
