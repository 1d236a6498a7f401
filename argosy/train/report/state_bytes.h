// Counts the state that lives on each device: variables and the optimizer's slots.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// Returns, by short name of a device, the bytes of its variables' present values, in all resource containers. Mirrors
// count on each device. May be called while steps run; then the bytes may be those before or after an update.
std::vector<std::pair<std::string, std::uint64_t>> state_bytes(const DeviceSet& device_set);

}  // namespace argosy
