// Mirrors: the copies of variables on devices other than the first. Internal to strategy/.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A variable of the first device, and the copy of it on another device.
struct Mirror {
  NodeId first, mirror;
  DType dtype = DType::kInvalid;
  std::string device;  // of the mirror
};
// Returns what to run to copy the value of every first variable to its mirror. Adds nodes.
Result<Value> refresh(Graph& graph, const std::vector<Mirror>& mirrors);

}  // namespace argosy
