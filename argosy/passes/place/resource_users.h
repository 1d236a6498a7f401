// Who in a graph takes the handle that a node gives (a variable's, a queue's, a table's), over all of its steps. A step
// is placed by itself, but what it puts on a device lives there for the others: so what they do with it counts, too.
#pragma once

#include <span>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class ResourceUsers {
 public:
  // Looks at the nodes that the graph has gained since the last call. REQUIRES: the same graph every time.
  void look_at(const Graph& graph);

  // Those that run kernels with it; ops that forward the handle, steer it or pass it to a function do not.
  std::span<const NodeId> of(NodeId source) const;

 private:
  std::vector<NodeId> source_;              // by node: whose handle its output 0 is
  std::vector<std::vector<NodeId>> users_;  // by source
};

}  // namespace argosy
