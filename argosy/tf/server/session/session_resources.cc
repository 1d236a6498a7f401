#include "argosy/tf/server/session/session_resources.h"

namespace argosy::tf {

namespace {

Result<ResourceHandle> find_resource(DeviceSet& device_set, std::string_view device, const std::string& container,
                                     const std::string& name) {
  for (int d = 0; d < device_set.size(); ++d) {
    if (!device.empty() && device_set.device(d).spec().name.to_string() != device) continue;
    auto found = device_set.resources(d).find<Resource>(container, name);
    if (found.ok()) return ResourceHandle(container, name, *std::move(found));
  }
  return not_found("there is no resource \"", name, "\" in container \"", container, "\" on ",
                   device.empty() ? "any device" : device);
}

std::string device_of(DeviceSet& device_set, const ResourceHandle& handle) {
  for (int d = 0; d < device_set.size(); ++d) {
    const auto found = device_set.resources(d).find<Resource>(handle.container(), handle.name());
    if (found.ok() && *found == handle.resource()) return device_set.device(d).spec().name.to_string();
  }
  return "";
}

}  // namespace

TensorWire session_wire(DeviceSet& device_set, std::int64_t limit_bytes, std::shared_ptr<LentFeeds> lent) {
  TensorWire wire{
      .limit_bytes = limit_bytes,
      .memory = &device_set.device(0).allocator(),  // keeps what it gave for the next feed
      .find_resource =
          [&device_set](std::string_view device, const std::string& container, const std::string& name) {
            return argosy::tf::find_resource(device_set, device, container, name);
          },
      .device_of = [&device_set](const ResourceHandle& handle) { return argosy::tf::device_of(device_set, handle); }};
  if (lent != nullptr) wire.lent = [lent = std::move(lent)](std::string_view text) { return lent->find(text); };
  return wire;
}

}  // namespace argosy::tf
