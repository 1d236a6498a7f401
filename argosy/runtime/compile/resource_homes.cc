#include "argosy/runtime/compile/resource_homes.h"

#include "argosy/op/state/made_on_device.h"

namespace argosy {

std::pair<std::string, std::string> resource_name(const Node& handle) {
  auto container = handle.attrs.get_or<std::string>("container", "");
  auto shared = handle.attrs.get_or<std::string>("shared_name", "");
  if (container.empty()) container = "localhost";
  if (shared.empty()) shared = handle.name;
  return {std::move(container), std::move(shared)};
}

namespace {

// The manager in which the session's node has made its own resource; null: in none.
const ResourceManager* made_in(const Node& handle, const ResourceManager& own) {
  const std::string name = MadeOnDevice::name_of(handle.attrs.get_or<std::string>("container", ""),
                                                 handle.attrs.get_or<std::string>("shared_name", ""), handle.name);
  const auto found = own.find<Resource>(MadeOnDevice::kContainer, name);
  const auto* const made = found.ok() ? dynamic_cast<const MadeOnDevice*>(found->get()) : nullptr;
  return made != nullptr ? made->manager() : nullptr;
}

}  // namespace

int home_of(const DeviceSet& device_set, const Node& handle, const ResourceManager* own) {
  const ResourceManager* const made = own != nullptr ? made_in(handle, *own) : nullptr;
  for (int d = 0; made != nullptr && d < device_set.size(); ++d) {
    if (&device_set.resources(d) == made) return d;
  }
  const auto [container, name] = resource_name(handle);
  for (int d = 0; d < device_set.size(); ++d) {
    if (device_set.resources(d).find<Resource>(container, name).ok()) return d;
  }
  return -1;
}

}  // namespace argosy
