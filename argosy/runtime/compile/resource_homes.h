// Where what a handle names lives already: steps are placed one by one, and a name means one thing in all of them.
#pragma once

#include <string>
#include <utility>

#include "argosy/graph/graph.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Container and name of what a node of a handle (VarHandleOp, VariableV2, a queue) stands for.
std::pair<std::string, std::string> resource_name(const Node& handle);
// Its device among those of the set; -1: it lives nowhere there.
int home_of(const DeviceSet& device_set, const Node& handle);

}  // namespace argosy
