#include "argosy/passes/fuse/requested_devices.h"

namespace argosy {

const Name* RequestedDevices::of(NodeId id) const {
  static const Name anywhere;
  if (!graph_.asks_for_devices()) return &anywhere;
  for (int beside = 0; beside < 8; ++beside) {
    const Node& n = graph_.node(id);
    if (!n.device.empty()) return &n.device;
    const auto places = n.colocation();
    if (places.empty()) return &n.device;
    const auto other = graph_.find_colocated(n, places[0]);
    if (places.size() == 1 && other == id) return &n.device;  // colocated with itself: anywhere
    if (places.size() > 1 || !other) return nullptr;
    id = *other;
  }
  return nullptr;
}

bool RequestedDevices::is_async(NodeId id) const {
  if (is_async_ == nullptr) return false;
  const Name* const device = of(id);
  if (device == nullptr) return false;
  const auto [known, fresh] = known_.try_emplace(*device, false);
  if (fresh) known->second = is_async_(*device);
  return known->second;
}

}  // namespace argosy
