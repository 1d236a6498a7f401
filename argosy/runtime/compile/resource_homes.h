// Finds the device on which a named resource lives. Steps are placed one by one, and a name must mean the same resource
// in all of them.
#pragma once

#include <string>
#include <utility>

#include "argosy/graph/graph.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Returns container and name of the resource that a handle's node stands for (VarHandleOp, VariableV2, a queue).
std::pair<std::string, std::string> resource_name(const Node& handle);
// Returns the resource's device in the set; -1: no device of the set has it. `own`: the session's manager, may be null.
int home_of(const DeviceSet& device_set, const Node& handle, const ResourceManager* own);

}  // namespace argosy
