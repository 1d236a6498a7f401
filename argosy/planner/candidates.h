// The strategies that there are for some devices and a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/strategy/strategy_spec.h"

namespace argosy {

// A strategy, and the devices that it is planned for.
struct Candidate {
  StrategySpec strategy;            // dp is the number of devices
  std::vector<DeviceSpec> devices;  // the fastest of those that were asked for, in the order asked
};

// Data parallelism over 1, 2, 4, … and all devices; slots sharded or not; 1, 2, 4 or 8 micro-batches. In the order of
// trial: plain ones first, more micro-batches last. Those with empty micro-batches are left out.
std::vector<Candidate> candidates(const std::vector<DeviceSpec>& devices, std::int64_t batch);

// The one that was asked for, on all devices. ARG-SHARD-002 where it is for another number of devices.
Result<Candidate> candidate_of(const StrategySpec& strategy, const std::vector<DeviceSpec>& devices);

}  // namespace argosy
