// Describes how the values of the shards combine into the global value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

// How a value on a shard relates to the global batch's.
enum class PlacementKind {
  kReplicate,        // does not depend on the batch: equal on every shard
  kShard,            // one entry per example along `axis`
  kPartialSum,       // a sum over examples
  kPartialMean,      // a mean over examples: weighted by the number of examples
  kPartialWeighted,  // a sum over examples divided by another such sum, `weight`
  kUnknown,
};

struct BatchPlacement {
  PlacementKind kind = PlacementKind::kUnknown;  // of the value
  int axis = 0;                                  // kShard: along which it is cut
  Endpoint weight = {};                          // kPartialWeighted: the sum that divides
  // kPartialSum: terms that do not depend on the batch. They count once, not once per shard.
  std::vector<Endpoint> once = {};
  std::string why = {};  // kUnknown: the reason
};

// Follows `value` back through linear ops to the reduction over the batch axis. Endpoints in `global` have global
// values already. Examples:
//  sum(x^2)             kPartialSum
//  mean(loss)           kPartialMean
//  sum(w * l) / sum(w)  kPartialWeighted
//  sqrt(mean(…))        kUnknown
BatchPlacement batch_placement_of(const Graph& graph, const BatchAxes& axes, Endpoint value,
                                  std::span<const Endpoint> global = {});

// A term of a sum whose terms combine in different ways. Of a term with a mean, `value` is the Mean itself.
struct Term {
  Endpoint value;            // the summand
  NodeId taker;              // consumer of the value on the way to the sum; index -1: the value is the sum
  int input = 0;             // of the node
  BatchPlacement placement;  // of the value
};
// The terms that depend on the batch; empty if the placement of one of them is unknown.
std::vector<Term> terms_of(const Graph& graph, const BatchAxes& axes, Endpoint sum);

// The inputs that OpDef::linear speaks of: those of the output's dtype. Shapes, axes and indices are left out.
std::vector<Endpoint> data_inputs(const Node& n);
// The inputs by which an op selects among its data inputs (Select). If such a condition is device-varying, the output
// is no partial sum.
std::vector<Endpoint> conditions(const Graph& graph, const Node& n);
// True if the node is a value times the shard's weight. The weights of all shards add up to one.
bool is_part(const Graph& graph, const Node& n);
// True if the value is zero for every feed.
bool is_zero(const Graph& graph, Endpoint e);

}  // namespace argosy
