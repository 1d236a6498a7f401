#include "tools/argosy/cli/device_flags.h"

#include <algorithm>

namespace argosy::cli {

// --devices and --gpus say the same thing: whichever comes second is refused.
struct DevicesText {
  DeviceRequest* request = nullptr;
  const DevicesText* other = nullptr;
  bool gpus = false, given = false;
};

// --virtual-gpus divides real GPUs, and --emulate is in their place: whichever comes second is refused.
struct GpusText {
  std::string* text = nullptr;  // in the request
  const GpusText* other = nullptr;
  bool given = false;
};

namespace {

// "4" is the first four; "2,3" are those two, by the machine's numbers.
Result<std::string> gpu_list(std::string_view text) {
  std::vector<std::string> names;
  const bool is_count = text.find(',') == std::string_view::npos;
  for (const std::string& word : str_split(text, ',')) {
    std::int64_t number = 0;
    ARGOSY_RETURN_IF_ERROR(parse_value(str_trim(word), {.least = is_count ? 1.0 : 0.0, .most = 1024}, number));
    if (!is_count) names.push_back(str_cat("gpu:", number));
    for (std::int64_t i = 0; is_count && i < number; ++i) names.push_back(str_cat("gpu:", i));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

}  // namespace

Status parse_value(std::string_view text, const Limits& limits, DevicesText& to) {
  std::string devices;
  ARGOSY_RETURN_IF_ERROR(parse_value(text, limits, devices));
  if (to.gpus) {
    auto list = gpu_list(text);
    if (!list.ok()) return Status(list.status()).with_hint("2");
    devices = *std::move(list);
  }
  if (to.other->given) {
    return invalid_argument("--gpus and --devices both say what to use").with_hint(to.gpus ? "2" : "auto");
  }
  to.given = true;
  to.request->devices = std::move(devices);
  return ok_status();
}
Status parse_value(std::string_view text, const Limits& limits, GpusText& to) {
  ARGOSY_RETURN_IF_ERROR(parse_value(text, limits, *to.text));
  if (to.other->given) {
    return invalid_argument("--emulate is in place of the real GPUs that --virtual-gpus divides: give one of both")
        .with_hint("2");
  }
  to.given = true;
  return ok_status();
}
std::string show_value(const GpusText& value) { return *value.text; }

std::string show_value(const DevicesText& value) { return value.gpus ? std::string() : value.request->devices; }

void add_machine_flags(Command& command, DeviceRequest& request) {
  auto& emulated = command.own<GpusText>();
  auto& divided = command.own<GpusText>();
  emulated.text = &request.emulate;
  divided.text = &request.virtual_gpus;
  emulated.other = &divided;
  divided.other = &emulated;
  command
      .option("--emulate N", emulated,
              "N emulated GPUs, or \"gpu:4GiB,gpu:4GiB@0.5;link=12GB/s\"; default $ARGOSY_EMULATE")
      .option("--mem CAPS", request.memory, "hard memory caps by device: gpu:0=4GiB,gpu:1=50%")
      .option("--virtual-gpus N", divided,
              "N logical GPUs on every GPU, or by number: 0:2,1:4; default $ARGOSY_VIRTUAL_GPUS");
}

void add_device_flags(Command& command, DeviceRequest& request) {
  auto& devices = command.own<DevicesText>();
  auto& gpus = command.own<DevicesText>();
  devices.request = gpus.request = &request;
  gpus.gpus = true;
  devices.other = &gpus;
  gpus.other = &devices;
  command.option("--gpus N", gpus, "the first N GPUs, real or emulated; or by number: 2,3")
      .option("--devices LIST", devices, "gpu:0,gpu:1 or cpu:0, a number, or auto: every GPU, else the CPU");
  add_machine_flags(command, request);
  command
      .option("--cpu-threads N", request.cpu_threads, "threads of the CPU device; default: every core",
              {.least = 0, .most = 4096})
      .option("--tf32", request.tf32, "float32 products with TensorFloat-32: faster, 10 bits of mantissa");
}

std::string machine_numbers(const std::vector<DeviceSpec>& devices) {
  std::string text;
  for (const DeviceSpec& d : devices) {
    const int theirs = d.system_number >= 0 ? d.system_number : d.number;
    if (!d.is_gpu() || theirs < 0) continue;
    text += text.empty() ? str_cat(d.name.short_string(), " is the machine's GPU ", theirs)
                         : str_cat(", ", d.name.short_string(), " its GPU ", theirs);
  }
  const bool other = std::any_of(devices.begin(), devices.end(),
                                 [](const DeviceSpec& d) { return d.said_name() != d.name.short_string(); });
  return other ? text : std::string();
}

}  // namespace argosy::cli
