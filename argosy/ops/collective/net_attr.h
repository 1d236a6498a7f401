// The mark of collectives whose group has ranks on several tasks. argosy/strategy/tasks sets it, kernels and the order of
// instructions read it.
#pragma once

namespace argosy {

// list(int): the number of the group in its graph, which is its tag on the network; the first of this task's ranks; how
// many they are. Groups are numbered in an order in which a step can make them, the same on every task.
inline constexpr const char* kNetAttr = "_net";

}  // namespace argosy
