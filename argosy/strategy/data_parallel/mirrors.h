// Mirrors: the copies of variables on devices other than the first. Internal to strategy/.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A device's copy of a variable, which the first device has as well.
struct Mirror {
  NodeId first, mirror;
  DType dtype = DType::kInvalid;
  std::string device;  // of the mirror
};
// What to run so that every mirror takes the value of its first. Adds nodes.
Result<Value> refresh(Graph& graph, const std::vector<Mirror>& mirrors);

}  // namespace argosy
