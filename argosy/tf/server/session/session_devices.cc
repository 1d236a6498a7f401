#include "argosy/tf/server/session/session_devices.h"

#include <algorithm>

#include "argosy/device/pool.h"
#include "argosy/formats/proto/master.pb.h"
#include "argosy/runtime/device_set/device_set_view.h"
#include "argosy/tf/worker/device_attributes.h"

namespace argosy::tf {

Result<std::shared_ptr<DeviceSet>> session_device_set(const std::shared_ptr<DeviceSet>& server,
                                                      const SessionConfig& config) {
  if (config.plain_devices() && !config.isolate_state) return server;
  DeviceSetView view;
  view.own_resources = config.isolate_state;
  std::vector<int> gpus;
  int cpus = 0;
  for (int d = 0; d < server->size(); ++d) {
    const DeviceSpec& spec = server->device(d).spec();
    if (spec.is_gpu()) {
      gpus.push_back(d);
    } else if (config.max_cpus < 0 || cpus < std::max(config.max_cpus, 1)) {
      view.parts.push_back({.device = d, .cores = cpus++ == 0 ? config.cpu_threads : 0});
    }
  }
  if (config.visible_gpus) {
    std::vector<int> chosen;
    for (const int gpu : *config.visible_gpus) chosen.push_back(gpus[static_cast<std::size_t>(gpu)]);
    gpus = std::move(chosen);
  }
  if (config.max_gpus >= 0 && gpus.size() > static_cast<std::size_t>(config.max_gpus)) {
    gpus.resize(static_cast<std::size_t>(config.max_gpus));
  }
  for (const int d : gpus) {
    const std::uint64_t limit = server->device(d).spec().memory_limit_bytes;
    const auto of = static_cast<double>(limit > 0 ? limit : host_memory_bytes());
    view.parts.push_back({.device = d, .limit_bytes = static_cast<std::uint64_t>(of * config.gpu_memory)});
  }
  return view_device_set(server, view);
}

void reset_container(DeviceSet& device_set, const std::string& container) {
  for (int d = 0; d < device_set.size(); ++d)
    device_set.resources(d).clear(container.empty() ? "localhost" : container);
}

void describe_devices(const std::vector<DeviceSpec>& own, const std::vector<DeviceSpec>& others,
                      tensorflow::ListDevicesResponse& to) {
  for (const DeviceSpec& spec : own) describe_device(spec, *to.add_local_device());
  for (const DeviceSpec& spec : others) describe_device(spec, *to.add_remote_device());
}

}  // namespace argosy::tf
