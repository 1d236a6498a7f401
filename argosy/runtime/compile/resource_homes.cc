#include "argosy/runtime/compile/resource_homes.h"

#include <map>
#include <optional>

#include "argosy/base/mutex.h"
#include "argosy/graph/makes_handle.h"
#include "argosy/op/state/made_on_device.h"

namespace argosy {

ResourceName resource_name(const Node& handle) {
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

// The container and name of each handle that asked for this device by type and number. Forgets old names of which there
// is no resource. Thread-safe.
class RequestedNames : public Resource {
 public:
  static constexpr const char* kContainer = "requested_names";

  std::string describe() const override { return "names that were asked for on this device"; }
  void add(ResourceName name, const ResourceManager& resources) {
    MutexLock lock(mutex_);
    names_[std::move(name)] = next_++;
    if (names_.size() < most_) return;
    const auto is_over = [&resources, now = next_](const auto& entry) {
      const auto& [at, order] = entry;
      return order + kKept < now && !resources.find<Resource>(at.first, at.second).ok();
    };
    std::erase_if(names_, is_over);
    most_ = 2 * names_.size() + 2 * kKept;
  }
  bool contains(const ResourceName& name) const {
    MutexLock lock(mutex_);
    return names_.contains(name);
  }

 private:
  static constexpr std::size_t kKept = 10'000;  // so many of the last ones stay: their steps may not have run yet

  mutable Mutex mutex_;
  std::map<ResourceName, std::size_t> names_ ARGOSY_GUARDED_BY(mutex_);  // when it was asked for last
  std::size_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::size_t most_ ARGOSY_GUARDED_BY(mutex_) = 2 * kKept;
};

bool was_requested(const ResourceManager& resources, const ResourceName& name) {
  const auto names = resources.find<RequestedNames>(RequestedNames::kContainer, "");
  return names.ok() && (*names)->contains(name);
}

}  // namespace

void remember_requests(const DeviceSet& device_set, const Graph& graph, const DevicePlacement& placement) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const int device = placement.device[static_cast<std::size_t>(i)];
    if (n.device.empty() || device >= device_set.size() || !makes_handle(n)) continue;
    const DeviceName request = asked_device(n.device);
    if (request.type.empty() || !request.id || !request.matches(device_set.device(device).spec().name)) continue;
    ResourceManager& resources = device_set.resources(device);
    const auto names = resources.find_or_make<RequestedNames>(RequestedNames::kContainer, "",
                                                              [] { return std::make_shared<RequestedNames>(); });
    if (names.ok()) (*names)->add(resource_name(n), resources);
  }
}

int home_of(const DeviceSet& device_set, const Node& handle, const DeviceName& request, int placed,
            const ResourceManager* own) {
  const ResourceManager* const made = own != nullptr ? made_in(handle, *own) : nullptr;
  for (int d = 0; made != nullptr && d < device_set.size(); ++d) {
    if (&device_set.resources(d) == made) return d;
  }
  const ResourceName name = resource_name(handle);
  const auto has = [&](int d) { return device_set.resources(d).find<Resource>(name.first, name.second).ok(); };
  const auto matches = [&](const DeviceName& wanted, int d) {
    return wanted.matches(device_set.device(d).spec().name);
  };
  if (placed >= 0 && placed < device_set.size() && has(placed)) return placed;
  for (int d = 0; d < device_set.size(); ++d) {
    if (matches(request, d) && has(d)) return d;
  }
  if (request.type.empty() && !request.id) return -1;  // all devices of the task were looked at
  const DeviceName task{request.job, request.replica, request.task, "", std::nullopt};
  for (int d = 0; d < device_set.size(); ++d) {
    if (matches(task, d) && has(d) && !was_requested(device_set.resources(d), name)) return d;
  }
  return -1;
}

}  // namespace argosy
