// ResourceUsers: the users of each handle (of a variable, a queue, a table) in the whole graph of a session. A step is
// placed alone, but its resources stay on their devices for later steps. So placement must consider all users.
#pragma once

#include <span>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class ResourceUsers {
 public:
  // Reads the nodes that were added to the graph since the last call. REQUIRES: the same graph every time.
  void look_at(const Graph& graph);

  // The nodes whose kernels use the handle of `source`. Ops that forward it, route it (Switch, Merge) or pass it to a
  // function are not among them.
  std::span<const NodeId> of(NodeId source) const;

 private:
  std::vector<NodeId> source_;              // by node: the node that made the handle in its output 0
  std::vector<std::vector<NodeId>> users_;  // by source
};

}  // namespace argosy
