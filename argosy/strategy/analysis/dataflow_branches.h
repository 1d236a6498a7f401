// Which nodes run only when conditionals in dataflow form (Switch, Merge) go one way. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct Branches {
  std::vector<int> of;                            // by node: equal numbers run, or do not, together; 0: in every step
  std::vector<std::vector<Endpoint>> predicates;  // by number: what decides
};
// `order` is a topological one.
Branches find_branches(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
