// Decides the layout of every value of a graph on a mesh, from the rules of its nodes.
//
//   feeds x: S(0)      h = MatMul(x, w)       along i: S(0)             the sharding that costs least now
//   variables: R       l = Mean(h)            along i: P(sum)           a partial value is passed on ...
//                      r = Sqrt(l)            P(sum) -> R: "not linear" ... until a node is not linear in it
//                      s = l * 2              reads R as well           combined for one, combined for all
//
// One mesh axis after the other, each in rounds of three sweeps over the graph:
// 1. forward: for each node the sharding whose reshards move the fewest bytes. Ties: wishes met, then fewer changed
//    inputs, then the rule's order. Layouts that a loop carries are iterated to a fixpoint.
// 2. backward (propagate.h): a replicated value whose users all need the same shard is computed as that shard.
// 3. combination (combine.h): a partial value that one user needs combined is combined for all. A combination moves
//    upstream to where the partial value is smaller.
// No sharding is chosen by an op's or a node's name. The result is the same on every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/mesh.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

// A placement that is given: that of a feed or variable, or of any value, which is then resharded. For a variable,
// `value` is its reference or handle.
struct Seed {
  Endpoint value;
  int axis = 0;
  Placement placement;
  std::string why = "it is asked for";
};

struct ResolveRequest {
  std::vector<Seed> seeds;  // variables without one are replicated
  LocalStatistics local = {};
  std::vector<Endpoint> fetches = {};  // values that are needed replicated
  std::int64_t batch = 64;             // the batch size at which bytes of reshards are compared
};

// INVALID_ARGUMENT ARG-SHARD-013: no sharding fits a node, or a seed does not fit its value.
Result<Assignment> resolve(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh,
                           const ResolveRequest& request);

// Returns the seeds of data parallelism: the batch nodes are S(0) on this axis.
std::vector<Seed> shard_feeds(const std::vector<NodeId>& batch, int axis);

}  // namespace argosy
