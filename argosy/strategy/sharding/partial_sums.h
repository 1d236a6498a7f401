// Finds the values below a per-shard value that shards can combine, and the nodes to recompute from the combined
// values.
//
//   rows ──► Mul ──► UnsortedSegmentSum ──► update
//   norm ────┘
//
// Here the rows are joined and the norm is summed; Mul and UnsortedSegmentSum are recomputed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

struct PartialSums {
  std::vector<Endpoint> sums;  // linear in sums over the batch
  std::vector<Endpoint> rows;  // with one or more rows per example
  // The nodes from there to the value, whose own node is last; topological order.
  std::vector<NodeId> recompute;
  std::string why = {};  // not empty: nothing was found, for this reason
};

struct PartialSumsOptions {
  bool sums_only = false;  // terms that do not depend on the batch must not be part of a sum
  // Rows need not belong to examples, if they are gradients or keep their numbers. The rows of a sparse gradient on all
  // shards, with their indices, add up to the global gradient.
  bool in_pairs = false;
  std::span<const Endpoint> global = {};  // values that are global already
  // Keeps apart terms of a sum that combine in different ways, such as a sum and a mean.
  bool alike = false;
  // By node: not 0 for values made of gradients that start at the loss. All else that a shard computes with, such as
  // its own statistics, counts as a constant to them. Empty: not known.
  std::span<const char> gradients = {};
  // The sum will be averaged. So it may also be a value that sometimes is the same on all shards.
  bool averaged = false;
  // By node: find_cross_example_nodes() of cross_example_check.h. Such nodes are recomputed from values below them.
  // Statistics for normalisation are averaged. Empty: not known, and no gradient is computed with such nodes.
  std::span<const char> cross_example = {};
};

// Finds the partial sums of `value`, an input of an update. All are empty if the value does not depend on the batch.
// - Gradients are taken at the last point where they are linear in the batch.
// - The norm of clip-by-norm leads back to the gradients that it is made of.
// - Gradients of gathered rows, and their indices, are rows. They are taken before equal indices are added up and
//   before they are scaled by a value made of all of them.
// - The search passes through branches of conditionals, but not through loops, functions or stateful ops.
PartialSums find_partial_sums(const Graph& graph, const BatchAxes& axes, Endpoint value,
                              const PartialSumsOptions& options = {});

}  // namespace argosy
