// Decides the layout of every value of a graph on a mesh, from the rules of its nodes.
//
//   feeds x: S(0)      h = MatMul(x, w)       along i: S(0)             the way that costs least now
//   variables: R       l = Mean(h)            along i: P(sum)           a partial value is passed on ...
//                      r = Sqrt(l)            P(sum) -> R: "not linear" ... until a node is not linear in it
//                      s = l * 2              reads R as well           combined for one, combined for all
//
// One mesh axis after the other, each in rounds of three sweeps over the graph:
// 1. forward: for each node the way whose reshards cost least; ties by how little changes, then by the rule's order.
//    The layout of what a loop carries is found by iterating until nothing changes.
// 2. backward (propagate.h): a replicated value whose users all take one shard of it is computed as that shard.
// 3. combination (combine.h): what one user needs combined is combined for all; a combination moves up to where the
//    partial value is smaller.
// No way is chosen by an op's or a node's name. The result is the same on every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/sharding/assignment.h"
#include "argosy/sharding/mesh.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

// What is decided already: the layout of a feed or variable, or a wish for any value. Of a variable: its reference or
// handle.
struct Seed {
  Endpoint value;
  int axis = 0;
  Placement placement;
  std::string why = "it is asked for";
};

struct ResolveRequest {
  std::vector<Seed> seeds;  // variables without one are replicated
  LocalStatistics local = {};
  std::vector<Endpoint> fetches = {};  // needed whole
  std::int64_t batch = 64;             // whose bytes reshards are compared by
};

// INVALID_ARGUMENT ARG-SHARD-013: a node has no way, or a seed does not fit its value.
Result<Assignment> resolve(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh,
                           const ResolveRequest& request);

// Seeds of data parallelism: the batch nodes are S(0) on this axis.
std::vector<Seed> shard_feeds(const std::vector<NodeId>& batch, int axis);

}  // namespace argosy
