#include "argosy/train/report/state_bytes.h"

#include <memory>

#include "argosy/op/state/variable.h"

namespace argosy {

std::vector<std::pair<std::string, std::uint64_t>> state_bytes(const DeviceSet& device_set) {
  std::vector<std::pair<std::string, std::uint64_t>> by_device;
  for (int d = 0; d < device_set.size(); ++d) {
    std::uint64_t bytes = 0;
    for (const auto& [name, resource] : device_set.resources(d).list()) {
      const auto variable = std::dynamic_pointer_cast<Variable>(resource);
      if (variable == nullptr || !variable->initialized()) continue;
      const auto value = variable->read(name);
      if (value.ok()) bytes += value->bytes();
    }
    by_device.emplace_back(device_set.device(d).spec().name.short_string(), bytes);
  }
  return by_device;
}

}  // namespace argosy
