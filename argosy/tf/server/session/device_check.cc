#include "argosy/tf/server/session/device_check.h"

#include <algorithm>
#include <unordered_set>

#include "argosy/rpc/wire/wire_reader.h"

namespace argosy::tf {

namespace {

bool available(const DeviceName& wanted, const std::vector<DeviceSpec>& devices) {
  return std::ranges::any_of(devices, [&](const DeviceSpec& d) { return wanted.matches(d.name); });
}

// What makes a device of this type and number. Devices are the server's: no ConfigProto of a session makes any.
std::string how_to_make(const DeviceName& wanted, const std::vector<DeviceSpec>& devices) {
  const int last = wanted.id.value_or(0);
  if (wanted.type == "GPU") return str_cat(" Emulated GPUs: argosy run (or serve) --emulate ", last + 1);
  if (wanted.type != "CPU" || last == 0) return "";
  const bool gpus = std::ranges::any_of(devices, [](const DeviceSpec& d) { return d.is_gpu(); });
  return str_cat(" ", last + 1, " CPU devices: argosy run (or serve) --devices ", gpus ? "gpu," : "", "cpu:", last);
}

Status not_there(std::string_view node, std::string_view device, const std::vector<DeviceSpec>& devices) {
  std::vector<std::string> names;
  for (const DeviceSpec& d : devices) names.push_back(d.name.to_string());
  const auto wanted = DeviceName::parse(device);
  return invalid_argument("Cannot assign a device for operation ", node, ": {{node ", node,
                          "}} was explicitly assigned to ", device, " but available devices are [ ", str_join(names),
                          " ]. Make sure the device specification refers to a valid device.",
                          wanted.ok() ? how_to_make(*wanted, devices) : std::string(), "\n\t [[", node, "]]")
      .with_id("ARG-PLACE-001");
}

}  // namespace

Status check_devices(std::string_view graph_def, const std::vector<DeviceSpec>& devices, bool soft_placement) {
  const std::string_view pieces[] = {graph_def};
  WireReader graph(pieces);
  WireScratch scratch;
  std::unordered_set<std::string_view> fine;
  for (WireField f; graph.next(f);) {
    if (f.number != 1 || !f.is_bytes()) {
      graph.skip(f);
      continue;
    }
    WireReader node = graph.message(f);
    std::string_view name, device;
    for (WireField n; node.next(n);) {
      if (n.number == 1 && n.is_bytes()) {
        name = node.text(n, scratch);
      } else if (n.number == 4 && n.is_bytes()) {
        device = node.text(n, scratch);
      } else {
        node.skip(n);
      }
    }
    if (device.empty() || fine.contains(device)) continue;
    auto wanted = DeviceName::parse(device);
    if (!wanted.ok()) {
      return invalid_argument("Malformed device specification '", device, "' in node: {{node ", name, "}}\n\t [[", name,
                              "]]")
          .with_id("ARG-PLACE-001");
    }
    if (soft_placement) {
      wanted->type.clear();
      wanted->id.reset();
    }
    if (!available(*wanted, devices)) return not_there(name, device, devices);
    fine.insert(device);
  }
  return ok_status();
}

}  // namespace argosy::tf
