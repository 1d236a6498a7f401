// Finds normalisation by batch statistics. Each shard uses its own statistics, so the replicated step differs from one
// device's step by design, unless DataParallelOptions::sync_batch_norm is set.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/assignment.h"

namespace argosy {

// Returns the nodes that normalise by statistics of the batch, by ascending id:
// - FusedBatchNorm and its gradient, in training;
// - the two means of tf.nn.moments along axis 0, or along axes that are not known, if the rows are scaled by the
//   variance.
//
// Moments along other axes belong to one example (layer norm) and do not count. Nor do moments that a loss only
// compares. `losses`: the losses of the graph; only their ancestors count as uses of moments. Empty: all nodes count.
std::vector<NodeId> batch_statistics(const Graph& graph, const std::vector<Endpoint>& losses = {});

// Returns where shards keep statistics of their own:
// - `of`: nodes of batch_statistics(), except moments through which no gradient flows. Those are of the global batch.
// - `gradients`: ancestors of updates, but not of the losses. Only updates of variables that a loss reads count.
//
// `order`: a topological order of the graph.
LocalStatistics local_statistics(const Graph& graph, const std::vector<NodeId>& order,
                                 const std::vector<Endpoint>& losses);

// Removes from `local` what `assignment` computes from no shard: statistics of a variable, or of one example's steps in
// time. Without any left, `local` becomes empty. True if it changed.
bool keep_own_statistics(const Graph& graph, const Assignment& assignment, LocalStatistics& local);

// True if the gradient of a shard's own statistics holds a sum that was combined over shards. Such a sum meets
// statistics of a shard, or is spread over the rows.
bool combines_own_gradients(const Graph& graph, const std::vector<NodeId>& order, const Assignment& assignment,
                            const LocalStatistics& local);

// True if a sharded ancestor of a loss is computed from a sum over shards through which gradients flow. An example is
// the mean that normalises advantages. `order`: a topological order of the graph.
bool trains_through_global_values(const Graph& graph, const std::vector<NodeId>& order, const Assignment& assignment,
                                  const std::vector<Endpoint>& losses);

}  // namespace argosy
