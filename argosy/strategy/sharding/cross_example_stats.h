// Makes cross-example statistics global: the mean and deviation that normalise advantages, the frequency of a label,
// the mean of the features that each example is compared with. Internal to strategy/.
//
//   rows ─┬─► Mean ──► all-reduce ──► Sub ─► … ─► loss
//         └─────────────────────────► Sub
//
// Backwards, a shard's gradient of the mean is a partial sum over its own rows. It is all-reduced before it flows back
// to the rows that the mean was made of.
//
// The collective is always at the reduction itself, where the rows end. Every value computed from global reductions is
// global, too.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Adds collectives for the sums and means of statistics that nothing is trained through. No gradient flows back to
// these, so nothing else changes. Statistics that are trained through stay per shard. So do values that are neither
// sums nor means nor computed from some; cross_example_check.h decides which of them are errors.
Status add_untrained_stats(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                           std::vector<CollectivePoint>& collectives);

// Returns the further collectives that make all statistics global: trained ones, and those for normalisation. Returns
// none if
// - no op is cross-example without them, or
// - a statistic cannot be made global: it is neither a sum nor a mean nor computed from some, the gradient of its mean
//   is not found, or it is in a loop. check_no_cross_example_ops() reports the error then.
//
// `statistics`: also for normalisation alone; then a statistic that cannot be made global is UNIMPLEMENTED ARG-DP-007.
Result<std::vector<CollectivePoint>> find_trained_stats(const Graph& graph, const BatchAxes& axes,
                                                        const std::vector<NodeId>& losses,
                                                        const std::vector<CollectivePoint>& collectives,
                                                        bool statistics = false);

// Where to look for the gradients of global statistics: from the seeds of the losses' gradients to `train`.
struct StatGradients {
  const std::vector<NodeId>& train;
  const std::vector<NodeId>& seeds;
};

// Make gradients of rows use the global gradient of a statistic, computed from reduced sums, instead of the shard's.
// Other users keep the shard's. REQUIRES: `collectives` hold the statistics; `axes` describe the graph as it is.
//
// sum_gradients_of_means() serves the means among the collectives. Call it before their divisions are scaled
// (mean_gradients.h). Both add nodes. UNIMPLEMENTED ARG-DP-007 names a node whose value is not made of sums.
Status sum_gradients_of_means(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives);
Status sum_gradients_of_stats(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives);

}  // namespace argosy
