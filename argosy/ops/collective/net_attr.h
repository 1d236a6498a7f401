// The attribute of collectives whose group has ranks on several tasks. argosy/strategy/tasks sets it; kernels and the
// order of instructions read it.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/graph/node.h"

namespace argosy {

// list(int): the number of the group in its graph, which is its tag on the network; the first of this task's ranks; how
// many ranks this task has. Groups are numbered in an order in which a step can run them, the same on every task.
inline constexpr const char* kNetAttr = "_net";

// Returns the number of a collective's group among those with ranks on other tasks; -1 if it has none.
inline std::int32_t cross_task_number(const Node& n) {
  const auto* net = n.attrs.find_as<std::vector<std::int64_t>>(kNetAttr);
  return net != nullptr && !net->empty() ? static_cast<std::int32_t>(net->front()) : -1;
}

}  // namespace argosy
