// Finds the loop and the branch of a conditional in which each node runs. Both are in dataflow form (Enter, Switch …).
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct LoopFrame {
  std::string name;            // Enter's frame_name
  int around = 0;              // the frame that encloses it; 0: none
  NodeId enter = {};           // one of its Enter nodes
  std::vector<NodeId> enters;  // all of them
};

struct LoopRegions {
  std::vector<int> frame;         // by node: its innermost loop; for an Enter, the loop that it enters; 0: none
  std::vector<LoopFrame> frames;  // [0]: no loop
  std::vector<char> conditional;  // by node: runs in one branch of a conditional only

  bool always(NodeId id) const {
    return frame[static_cast<std::size_t>(id.index)] == 0 && conditional[static_cast<std::size_t>(id.index)] == 0;
  }
};

// `order`: topological.
LoopRegions find_regions(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
