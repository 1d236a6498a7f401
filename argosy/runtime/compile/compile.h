// Compilation: from a placed step graph to a Step. Kernels are made, copies between memories inserted, an order fixed,
// memory planned.
#pragma once

#include <memory>

#include "argosy/passes/place/place.h"
#include "argosy/passes/prune/prune.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// REQUIRES: the placement is on the devices of the device set. Errors name the node. With `must_fit`,
// a step whose plan exceeds a device's cap is RESOURCE_EXHAUSTED; without, it is only good for looking at. `session`:
// what its session keeps for itself.
Result<std::shared_ptr<const Step>> compile_step(StepGraph graph, Placement placement,
                                                 std::shared_ptr<DeviceSet> device_set, const KernelRegistry& kernels,
                                                 bool must_fit = true,
                                                 std::shared_ptr<ResourceManager> session = nullptr);

}  // namespace argosy
