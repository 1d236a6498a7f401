// Assignment: the layout of every value of a graph on a mesh, and where layouts change. The result of resolve(),
// checked by verify(), explained by `argosy plan`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// How a node is computed on one mesh axis.
struct NodeSharding {
  enum class Kind : char {
    kWhole,     // every device computes it from replicated inputs
    kFactor,    // a device computes its shard along factor `index` of the rule
    kLinear,    // each device computes it on partial sums of the inputs in group `index` of ShardingRule::linear
    kMonotone,  // each device computes it on the partial maximum or minimum of input `index`
    kPass,      // control flow: the outputs have the placement of the inputs
    kLocal,     // every shard computes it from its own statistics
    kOnce,      // one device computes it
    kGiven,     // its placement is given by a seed: a feed, or a variable
    kMakes      // each shard makes a stack or array of its own, whose elements have the handle's placement
  };
  Kind kind = Kind::kWhole;
  int index = -1;
  std::int64_t rounds = 1, unit = 1;  // kFactor: how the factor is cut, as in Placement::rounds and unit
  friend bool operator==(const NodeSharding&, const NodeSharding&) = default;
};

// As the node of a Graph::Use: a fetch reads the value, and Graph::Use::input is the number of the fetch.
inline constexpr NodeId kFetch{-1};

// A change of layout between a value and some of its consumers, on one mesh axis. If a user is in several reshards of a
// value and axis, they apply in order: P(sum) to R for all users, then R to S(0) for some.
struct Reshard {
  Endpoint value;
  int axis = 0;  // of the mesh
  Placement from, to;
  std::vector<Graph::Use> users;  // the uses that read the value in its new placement
  std::string why;                // "MatMul 'pairs' multiplies examples with examples"
};

// A node that every device computes whole though an input was sharded. Or an input was partial, and the rule of the
// node allows nothing but replicated inputs.
struct WholeNode {
  NodeId node;
  std::string why;  // "Sort works along axis 0"
};

// Flags by node: where shards keep statistics of their own (Placement::Kind::kLocal). Empty: nowhere.
struct LocalStatistics {
  std::vector<char> of;  // means over the batch, and nodes that normalise by them (ShardingRule::may_be_local)
  // Nodes of gradients. Here a sum over a shard's rows may be the gradient of the shard's own statistics (may_be_own()).
  // It is then not combined over shards.
  std::vector<char> gradients;
};

// True if input `input` of a gradient's node, a partial sum, is the gradient of a shard's own statistics. By the chain
// rule it meets other statistics of the shard, or the gradient of their mean spreads it over the rows, alone. A sum that
// meets rows otherwise is of the global batch: dz - reduce_mean(dz, 0). `inputs`: the placements of all inputs, before
// reshards.
bool may_be_own(std::span<const Placement> inputs, int input);

struct Assignment {
  std::vector<std::vector<Layout>> layouts;          // by node, by output: before reshards
  std::vector<std::vector<NodeSharding>> shardings;  // by node, by mesh axis
  std::vector<Reshard> reshards;  // by value in topological order, then by axis, then in the order of the changes
  std::vector<WholeNode> whole;   // in topological order

  const Layout& layout(Endpoint e) const { return layouts[e.node.index][e.index]; }
};

}  // namespace argosy
