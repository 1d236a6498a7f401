// Numbers of the batch that rows of examples are computed with: the mean and deviation that advantages or inputs are
// normalised with, how common a label is, the mean of the features that each is compared with. Shards are to have the
// global batch's. Internal to strategy/.
//
//   rows ─┬─► Mean ──► all-reduce ──► Sub ─► … ─► loss          backwards: what a shard finds for the mean by its own
//         └─────────────────────────► Sub                       rows is a part of a sum, and summed before it goes on
//                                                               to the rows that the mean was made of
//
// What gets a collective is always the reduction itself, where the rows end: whatever is computed from reductions of the global
// batch is the global batch's, too.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Adds collectives for the sums and means that such numbers are made of, where nothing is trained through them. No gradient
// comes back to these, so that is all there is to do, whatever else is in the number (what scales a normalised layer).
// Numbers that are trained through stay each shard's, and so do those that are neither sums nor means nor computed from
// some (cross_example_check.h says which of them are an error).
Status add_untrained_stats(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                           std::vector<CollectivePoint>& collectives);

// The collectives that it takes besides for all statistics to be the global batch's, those that are trained through and
// statistics for normalisation among them. None where examples stay apart already; nor where one of the numbers cannot
// be had: it is neither a sum nor a mean nor computed from some, its mean's gradient is not found, or it is in a loop
// (check_no_cross_example_ops has the error). With `statistics` also where there are but statistics, and one that cannot be
// had is UNIMPLEMENTED ARG-DP-007.
Result<std::vector<CollectivePoint>> find_trained_stats(const Graph& graph, const BatchAxes& axes,
                                                        const std::vector<NodeId>& losses,
                                                        const std::vector<CollectivePoint>& collectives,
                                                        bool statistics = false);

// What comes back to statistics that are reduced, on the way from the seeds of the losses' gradients to what trains.
struct StatGradients {
  const std::vector<NodeId>& train;
  const std::vector<NodeId>& seeds;
};

// With collectives of those statistics: where gradients of rows are computed with what a shard found for a number, they are
// computed with the global batch's from now on, made of reduced sums. Shards' own goes on to everyone else. The
// first is for means among the collectives, and comes before their divisions are scaled (mean_gradients.h). `axes` are those
// of the graph as it is. Both add nodes. UNIMPLEMENTED ARG-DP-007, naming the node, where one is not made of sums.
Status sum_gradients_of_means(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives);
Status sum_gradients_of_stats(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives);

}  // namespace argosy
