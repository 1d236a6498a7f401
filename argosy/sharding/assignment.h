// Assignment: the layout of every value of a graph on a mesh, and where layouts change. The result of resolve(), checked
// by verify(), explained by `argosy plan`.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// A change of layout between a value and some of its consumers, on one mesh axis.
struct Reshard {
  Endpoint value;
  int axis = 0;  // of the mesh
  Placement from, to;
  std::vector<Graph::Use> users;  // that read the value in its new placement
  std::string why;                // "MatMul 'pairs' multiplies examples with examples"
};

// A node that every device computes whole although one of its inputs was sharded or partial.
struct WholeNode {
  NodeId node;
  std::string why;  // "Sort works along axis 0"
};

struct Assignment {
  std::vector<std::vector<Layout>> layouts;  // by node, by output
  std::vector<Reshard> reshards;             // in the order of the graph
  std::vector<WholeNode> whole;              // likewise

  const Layout& layout(Endpoint e) const { return layouts[e.node.index][e.index]; }
};

}  // namespace argosy
