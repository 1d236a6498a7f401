// Compilation: from a placed step graph to a Step. Makes kernels, inserts copies between memories, fixes an order,
// plans memory.
#pragma once

#include <memory>

#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// REQUIRES: the placement is on the devices of the device set. Errors name the node. `must_fit`: a step whose plan
// exceeds a device's cap is RESOURCE_EXHAUSTED; without it, the step must not be run. `session`: what ops of its
// session keep between runs; may be null. `whole`: of a partition, StepInfo::whole.
Result<std::shared_ptr<const Step>> compile_step(StepGraph graph, DevicePlacement placement,
                                                 std::shared_ptr<DeviceSet> device_set, const KernelRegistry& kernels,
                                                 bool must_fit = true,
                                                 std::shared_ptr<ResourceManager> session = nullptr,
                                                 std::shared_ptr<const PlacementReport> whole = nullptr);

}  // namespace argosy
