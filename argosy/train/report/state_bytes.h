// Counts the state that lives on each device: variables and the optimizer's slots.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// By short name of a device: bytes of the values that its variables have now, in every container. Mirrors count on each
// device. Thread-safe beside running steps; a step that runs may change what is counted.
std::vector<std::pair<std::string, std::uint64_t>> state_bytes(const DeviceSet& device_set);

}  // namespace argosy
