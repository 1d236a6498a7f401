// Assignment: the layout of every value of a graph on a mesh, and where layouts change. The result of resolve(), checked
// by verify(), explained by `argosy plan`.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// How a node is computed on one mesh axis.
struct Way {
  enum class Kind : char {
    kWhole,     // every device computes it from replicated inputs
    kFactor,    // a device computes its shard along factor `index` of the rule
    kLinear,    // on partial sums of the inputs in group `index` of ShardingRule::linear
    kMonotone,  // on the partial maximum or minimum of input `index`
    kPass,      // control flow: what comes goes on
    kLocal,     // every shard computes it from its own statistics
    kOnce,      // one device computes it
    kGiven,     // a seed: a feed, or a variable
    kMakes      // each shard makes a stack or array of its own, whose elements have the handle's placement
  };
  Kind kind = Kind::kWhole;
  int index = -1;
  std::int64_t rounds = 1, unit = 1;  // kFactor: how the factor is cut, as Placement has it for dimensions
  friend bool operator==(const Way&, const Way&) = default;
};

// The node of a user that is no node: the value is fetched. Graph::Use::input is the number of the fetch.
inline constexpr NodeId kFetch{-1};

// A change of layout between a value and some of its consumers, on one mesh axis. A user of several reshards of one
// value and axis gets them one after the other: P(sum) to R for all, then R to S(0) for some.
struct Reshard {
  Endpoint value;
  int axis = 0;  // of the mesh
  Placement from, to;
  std::vector<Graph::Use> users;  // that read the value in its new placement
  std::string why;                // "MatMul 'pairs' multiplies examples with examples"
};

// A node that every device computes whole although one of its inputs was sharded, or was partial where the rule of the
// node allows nothing but replicated inputs.
struct WholeNode {
  NodeId node;
  std::string why;  // "Sort works along axis 0"
};

// Where shards keep statistics of their own (Placement::Kind::kLocal), by node. Empty: nowhere.
struct LocalStatistics {
  std::vector<char> of;  // means over the batch, and nodes that normalise by them (ShardingRule::may_be_local)
  // Nodes of gradients. There a sum over a shard's rows that rows are computed with is the shard's gradient of its own
  // statistics, and is not combined.
  std::vector<char> gradients;
};

struct Assignment {
  std::vector<std::vector<Layout>> layouts;  // by node, by output: as the node gives it
  std::vector<std::vector<Way>> ways;        // by node, by mesh axis
  std::vector<Reshard> reshards;  // in the order of the graph; by value, then axis, then order of the changes
  std::vector<WholeNode> whole;   // likewise

  const Layout& layout(Endpoint e) const { return layouts[e.node.index][e.index]; }
};

}  // namespace argosy
