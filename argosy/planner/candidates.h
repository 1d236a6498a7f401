// Candidates: the strategies that the planner considers for some devices and a batch.
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

// Returns data parallelism over 1, 2, 4, … and all devices, with sharded slots or not, with 1, 2, 4 or 8 micro-batches.
// The order is that of trial: plain ones first, more micro-batches last. Those with empty micro-batches are left out.
std::vector<Candidate> candidates(const std::vector<DeviceSpec>& devices, std::int64_t batch);

// Returns the candidate of a given strategy, on all devices. ARG-SHARD-002: it is for another number of devices.
Result<Candidate> candidate_of(const StrategySpec& strategy, const std::vector<DeviceSpec>& devices);

}  // namespace argosy
