// How a value that shards compute from their own rows can be had of the global batch, when it is no sum itself: the
// latest values below it that shards can combine, and what has to be computed again from those.
//
//   rows ──► Mul ──► UnsortedSegmentSum ──► update
//   norm ────┘
//
// Here rows are joined, the norm is summed, and Mul and UnsortedSegmentSum lie between.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

struct PartialSums {
  std::vector<Endpoint> sums;  // linear in sums over the batch
  std::vector<Endpoint> rows;  // with a row for each example, or several
  std::vector<NodeId>
      recompute;         // nodes from those to the value, its own the last; each after what it is computed from
  std::string why = {};  // not empty: there are none, and this is why
};

struct PartialSumsOptions {
  bool sums_only = false;  // terms that do not depend on the batch may not be part of what is summed
  // Rows need not be the examples', as long as they are gradients or were not numbered anew: the rows that shards have
  // of a sparse gradient add up to that of the batch, together with their indices.
  bool in_pairs = false;
  std::span<const Endpoint> global = {};  // of the global batch already
  bool alike = false;  // terms of a sum that combine in different ways, a sum and a mean, are told apart
  // By node: not 0 where values are made of the gradients that start at the loss. What else a shard computes with is to
  // them as a constant: statistics of its own, which it normalises with. Empty: it cannot be told.
  std::span<const char> gradients = {};
  bool averaged = false;  // what counts as a sum will be averaged: it may also be, now and then, what all shards have
  // By node, find_cross_example_nodes() of cross_example_check.h: what shards would come to other numbers with is computed again from
  // below. Statistics for normalisation are averaged. Empty: it is not known; gradients are computed with none of
  // these.
  std::span<const char> cross_example = {};
};

// Of gradients on their way to an update: the gradients where they are still sums; the norm in clip-by-norm leads back
// to the gradients it is made of; gradients of gathered rows and their indices are rows, found before equal indices are
// added up, and before they are scaled by what all of them decide. Empty when the value does not depend on the batch.
// Branches of conditionals are seen through; loops, functions and ops that keep state are not.
PartialSums find_partial_sums(const Graph& graph, const BatchAxes& axes, Endpoint value,
                              const PartialSumsOptions& options = {});

}  // namespace argosy
