#include "argosy/device/device.h"

#include <nlohmann/json.hpp>

#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/table.h"
#include "tools/argosy/devices/doctor_machine.h"
#include "tools/argosy/devices/gpus.h"

namespace argosy::cli {

namespace {

nlohmann::ordered_json to_json(const DeviceSpec& spec) {
  return {{"name", spec.name.to_string()},
          {"short_name", spec.name.short_string()},
          {"kind", device_kind_name(spec.kind)},
          {"description", spec.description},
          {"memory_limit_bytes", spec.memory_limit_bytes},
          {"cores", spec.cores},
          {"speed", spec.speed},
          {"link_bytes_per_second", spec.link_bytes_per_second}};
}

std::string to_text(const std::vector<DeviceSpec>& devices) {
  std::vector<std::vector<std::string>> rows = {{"device", "kind", "memory", "cores", "what it is"}};
  for (const DeviceSpec& spec : devices) {
    rows.push_back({spec.name.short_string(), std::string(device_kind_name(spec.kind)),
                    spec.memory_limit_bytes > 0 ? format_bytes(spec.memory_limit_bytes) : "-", str_cat(spec.cores),
                    spec.description});
  }
  return format_table(rows);
}

Result<int> run(const DeviceRequest& request, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, list_devices(request));
  const GpuReport gpus = look_for_gpus(request);
  if (console.json()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeviceSpec& spec : devices) list.push_back(to_json(spec));
    console.print(nlohmann::ordered_json{{"schema_version", 1}, {"devices", list}, {"gpus", gpu_json(gpus)}}.dump(2) +
                  "\n");
    return kDone;
  }
  console.print(to_text(devices));
  if (const std::string table = gpu_table(gpus); !table.empty()) console.print("\n" + table);
  bool gpu = false;
  for (const DeviceSpec& spec : devices) gpu = gpu || spec.is_gpu();
  if (!gpu) {
    console.note(gpu_summary(gpus));
    // The same where there is no GPU would send people after what they cannot use.
    if (!gpus.problem.hint().empty() && !inspect_machine().nvidia_gpus.empty()) {
      console.note(str_cat("  try  ", gpus.problem.hint()));
    }
    console.note("no GPU here; rehearse with emulated ones: argosy devices --emulate 2");
  }
  return kDone;
}

}  // namespace

void define_devices(Command& program) {
  Command& devices = program.add("devices", "What there is to compute on");
  auto& request = devices.own<DeviceRequest>();
  add_machine_flags(devices, request);
  devices.json()
      .example("argosy devices", "the CPU, and every GPU")
      .example("argosy devices --emulate 2 --json", "what a program would see with two emulated GPUs")
      .about("Takes no memory and no thread of any device.")
      .runs([&request](Console& console) { return run(request, console); });
}

}  // namespace argosy::cli
