#include "argosy/runtime/compile/resource_homes.h"

#include <map>
#include <optional>
#include <tuple>

#include "argosy/base/mutex.h"
#include "argosy/graph/makes_handle.h"
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

// Devices of handles that asked for another one. Thread-safe.
class MovedHandles : public Resource {
 public:
  static constexpr const char* kContainer = "moved_handles";

  std::string describe() const override { return "list of handles that were moved"; }
  void put(const Node& handle, const DeviceName& request, int device) {
    MutexLock lock(mutex_);
    devices_[key(handle, request)] = device;
  }
  // -1: it was not moved.
  int find(const Node& handle, const DeviceName& request) const {
    MutexLock lock(mutex_);
    const auto found = devices_.find(key(handle, request));
    return found == devices_.end() ? -1 : found->second;
  }

 private:
  using Key = std::tuple<std::pair<std::string, std::string>, std::string, std::optional<int>>;
  static Key key(const Node& handle, const DeviceName& request) {
    return {resource_name(handle), request.type, request.id};
  }

  mutable Mutex mutex_;
  std::map<Key, int> devices_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

void remember_moved_handles(const DeviceSet& device_set, const Graph& graph, const DevicePlacement& placement) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const int device = placement.device[static_cast<std::size_t>(i)];
    if (n.device.empty() || device >= device_set.size() || !makes_handle(n)) continue;
    const DeviceName request = asked_device(n.device);
    if (request.matches(device_set.device(device).spec().name)) continue;
    const auto moved = device_set.resources(0).find_or_make<MovedHandles>(
        MovedHandles::kContainer, "", [] { return std::make_shared<MovedHandles>(); });
    if (moved.ok()) (*moved)->put(n, request, device);
  }
}

int home_of(const DeviceSet& device_set, const Node& handle, const DeviceName& request, int placed,
            const ResourceManager* own) {
  const ResourceManager* const made = own != nullptr ? made_in(handle, *own) : nullptr;
  for (int d = 0; made != nullptr && d < device_set.size(); ++d) {
    if (&device_set.resources(d) == made) return d;
  }
  const auto moved = device_set.resources(0).find<MovedHandles>(MovedHandles::kContainer, "");
  const int moved_to = moved.ok() ? (*moved)->find(handle, request) : -1;
  const auto [container, name] = resource_name(handle);
  int found = -1;
  for (int d = device_set.size(); d-- > 0;) {
    if (!device_set.resources(d).find<Resource>(container, name).ok()) continue;
    if (d == placed) return d;
    const bool asked = request.matches(device_set.device(d).spec().name);
    if (asked || (d == moved_to && found < 0)) found = d;
  }
  return found;
}

}  // namespace argosy
