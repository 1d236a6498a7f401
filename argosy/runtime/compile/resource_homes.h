// Finds the device on which a named resource lives. Steps are placed one by one, and a name on a device must mean the
// same resource in all of them.
//
//   place() ─► remember_moved_handles() ─► the resources of device 0 ─► home_of() ─► place() of a later step
#pragma once

#include <string>
#include <utility>

#include "argosy/graph/graph.h"
#include "argosy/passes/place/place.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Returns container and name of the resource that a handle's node stands for (VarHandleOp, VariableV2, a queue).
std::pair<std::string, std::string> resource_name(const Node& handle);
// Returns the resource's device in the set; -1: no device that the request allows has it. A request for one device
// allows that one, and the one where placement put such a handle instead. Of several devices: that of `placed`, where
// the session has put the handle before (-1: nowhere), else the one asked for. `own`: the session's manager, may be
// null.
int home_of(const DeviceSet& device_set, const Node& handle, const DeviceName& request, int placed,
            const ResourceManager* own);
// Keeps, for all sessions, which handles were put on another device of the set than they ask for. Soft placement does
// that, and colocation.
void remember_moved_handles(const DeviceSet& device_set, const Graph& graph, const DevicePlacement& placement);

}  // namespace argosy
