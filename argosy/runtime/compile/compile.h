// Compiles a placed step graph to a Step: makes kernels, inserts copies between memories, fixes an order, plans memory.
#pragma once

#include <memory>

#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// REQUIRES: the placement is on the devices of the device set. An error of a node names it. `must_fit`: a step whose
// plan exceeds a device's cap is RESOURCE_EXHAUSTED; without it, the step must not be run. `session`: the state that
// ops of its session keep between runs; may be null. `whole`: for a partition, StepInfo::whole; else null.
Result<std::shared_ptr<const Step>> compile_step(StepGraph graph, DevicePlacement placement,
                                                 std::shared_ptr<DeviceSet> device_set, const KernelRegistry& kernels,
                                                 bool must_fit = true,
                                                 std::shared_ptr<ResourceManager> session = nullptr,
                                                 std::shared_ptr<const PlacementReport> whole = nullptr);

}  // namespace argosy
