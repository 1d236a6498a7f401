// Finds the device on which a named resource lives. Steps are placed one by one, and a name on a device must mean the
// same resource in all of them.
//
//   place() ─► remember_requests() ─► the resources of each device ─► home_of() ─► place() of a later step
#pragma once

#include <string>
#include <utility>

#include "argosy/graph/graph.h"
#include "argosy/passes/place/place.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Container and name of a resource. Containers of a server's clients may have resources of one name.
using ResourceName = std::pair<std::string, std::string>;

// Returns the resource that a handle's node stands for (VarHandleOp, VariableV2, a queue).
ResourceName resource_name(const Node& handle);
// Returns the device of the set where the resource lives; -1: on none. Tried in this order:
//   1. the device where the session's own resource was made (`own`: the session's manager, may be null);
//   2. `placed`, where the session has put the handle before; -1: nowhere;
//   3. the first device that the request matches;
//   4. the first device of the request's task where nobody asked for the name: placement has moved the resource there.
int home_of(const DeviceSet& device_set, const Node& handle, const DeviceName& request, int placed,
            const ResourceManager* own);
// Keeps with each device, for all sessions, the names of the handles that asked for that very device.
void remember_requests(const DeviceSet& device_set, const Graph& graph, const DevicePlacement& placement);

}  // namespace argosy
