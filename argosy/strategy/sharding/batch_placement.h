// How a value that every shard of a batch computes from its own rows becomes the value of the global batch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// How a value on a shard relates to the global batch's.
enum class PlacementKind {
  kReplicate,        // does not depend on the batch: every shard has it
  kShard,            // one entry per sample along `axis`
  kPartialSum,       // a sum over samples
  kPartialMean,      // a mean over samples: weighted by the number of samples
  kPartialWeighted,  // a sum over samples divided by another such sum, `weight`
  kUnknown,
};

struct BatchPlacement {
  PlacementKind kind = PlacementKind::kUnknown;  // of the value
  int axis = 0;                                  // kShard: along which it is cut
  Endpoint weight = {};                          // kPartialWeighted: the sum that divides
  // kPartialSum: terms of that sum that do not depend on the batch and so count once, not once a shard.
  std::vector<Endpoint> once = {};
  std::string why = {};  // kUnknown: what stood in the way
};

// Follows `value` back through linear ops to the reduction over the batch axis.
// A sum of squares is kPartialSum, a mean of losses kPartialMean, sum(w * l) / sum(w) kPartialWeighted, sqrt(mean(…)) kUnknown.
// Endpoints in `global` already are of the global batch.
BatchPlacement batch_placement_of(const Graph& graph, const BatchAxes& axes, Endpoint value,
                                  std::span<const Endpoint> global = {});

// A term of a sum whose terms combine in different ways, each told of apart: a mean's is the Mean itself.
struct Term {
  Endpoint value;            // the summand
  NodeId taker;              // on the way to the sum; index -1: the value is the sum
  int input = 0;             // of the node
  BatchPlacement placement;  // of the value
};
// Those that depend on the batch; empty where one of them cannot be told.
std::vector<Term> terms_of(const Graph& graph, const BatchAxes& axes, Endpoint sum);

// The inputs that OpDef::linear speaks of: those of the output's type. Shapes, axes and indices are not among them.
std::vector<Endpoint> data_inputs(const Node& n);
// What an op chooses by among its data, as Select does: where that is a shard's own, sums of what it gives are none.
std::vector<Endpoint> conditions(const Graph& graph, const Node& n);
// A value times the shard's part of the batch: parts add up to one.
bool is_part(const Graph& graph, const Node& n);
// Known to be zeros, whatever is fed.
bool is_zero(const Graph& graph, Endpoint e);

}  // namespace argosy
