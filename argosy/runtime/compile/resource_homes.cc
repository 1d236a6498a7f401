#include "argosy/runtime/compile/resource_homes.h"

namespace argosy {

std::pair<std::string, std::string> resource_name(const Node& handle) {
  auto container = handle.attrs.get_or<std::string>("container", "");
  auto shared = handle.attrs.get_or<std::string>("shared_name", "");
  if (container.empty()) container = "localhost";
  if (shared.empty()) shared = handle.name;
  return {std::move(container), std::move(shared)};
}

int home_of(const DeviceSet& device_set, const Node& handle) {
  const auto [container, name] = resource_name(handle);
  for (int d = 0; d < device_set.size(); ++d) {
    if (device_set.resources(d).find<Resource>(container, name).ok()) return d;
  }
  return -1;
}

}  // namespace argosy
