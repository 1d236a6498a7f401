// Turns a DeviceRequest into devices: lists the machine's devices, chooses, numbers and makes them.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/device/cpu/cpu_device.h"
#include "argosy/device/device.h"
#include "argosy/device/emulated/emulated_gpu.h"
#include "argosy/device/gpu_discovery.h"
#include "argosy/device/pool.h"

namespace argosy {

namespace {

constexpr int kMostCpus = 1024;

// The devices that a request chooses from, by the machine's numbers.
struct Stock {
  std::vector<DeviceSpec> cpus;
  std::vector<DeviceSpec> gpus;
  std::map<int, DeviceFaults> faults;  // by GPU number
  GpuReport report;                    // looked for only where they may be wanted
};

struct Choice {
  std::vector<DeviceSpec> cpus;    // all of them
  std::vector<DeviceSpec> gpus;    // those asked for, by the session's numbers
  std::vector<int> gpu_numbers;    // their numbers on the machine
  std::vector<DeviceSpec> chosen;  // those to compute on, in the order asked
  std::shared_ptr<GpuBackend> backend;
};

std::string or_environment(const std::string& text, const char* variable) {
  if (!text.empty()) return text;
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

DeviceName local_name(std::string type, int id) { return {"localhost", 0, 0, std::move(type), id}; }

std::string gpu_description(const DeviceSpec& spec) {
  std::string text = str_cat("emulated GPU, ", spec.cores, spec.cores == 1 ? " core, " : " cores, ",
                             format_bytes(spec.memory_limit_bytes));
  if (spec.speed != 1) text += str_cat(", speed ", spec.speed);
  if (spec.link_bytes_per_second > 0) text += str_cat(", link ", spec.link_bytes_per_second * 1e-9, " GB/s");
  return text;
}

// Parses a count: "2" and nothing else.
bool parse_count(std::string_view text, int* count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *count);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool is_auto(std::string_view devices) { return devices.empty() || devices == "auto"; }

// Returns the patterns of "gpu:0,cpu"; none for "auto" and a count.
Result<std::vector<DeviceName>> parse_devices(std::string_view devices) {
  std::vector<DeviceName> patterns;
  int count = 0;
  if (is_auto(devices) || parse_count(devices, &count)) return patterns;
  for (const std::string& item : str_split(devices, ',')) {
    Result<DeviceName> name = DeviceName::parse(str_trim(item));
    if (!name.ok()) {
      return std::move(name).status().with_where("--devices " + std::string(devices));
    }
    if (name->is_open()) {
      return invalid_argument("devices \"", devices, "\": an empty entry")
          .with_id("ARG-DEV-001")
          .with_hint("--devices gpu:0,gpu:1, or --devices auto");
    }
    patterns.push_back(*std::move(name));
  }
  return patterns;
}

// Returns how many logical CPUs are needed: cpu:3 needs four.
Result<int> cpu_count(const DeviceRequest& request, const std::vector<DeviceName>& patterns) {
  int count = request.cpu_devices;
  for (const DeviceName& p : patterns) {
    if (p.type == "CPU" && p.id && *p.id < kMostCpus) count = std::max(count, *p.id + 1);
  }
  if (count < 1 || count > kMostCpus || request.cpu_threads < 0) {
    return invalid_argument("CPU devices: ", request.cpu_devices, " with ", request.cpu_threads,
                            " threads asked for; from 1 to ", kMostCpus, " devices, 0 (every core) or more threads")
        .with_id("ARG-DEV-001");
  }
  return count;
}

Status apply_caps(std::string_view memory, Stock& stock) {
  const auto bad = [&](std::string_view item, std::string_view why) {
    return invalid_argument("memory caps: \"", item, "\": ", why)
        .with_id("ARG-DEV-001")
        .with_hint("--mem gpu:0=4GiB,gpu:1=50%");
  };
  if (str_trim(memory).empty()) return {};
  for (const std::string& untrimmed : str_split(memory, ',')) {
    const std::string_view item = str_trim(untrimmed);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return bad(item, "not of the form DEVICE=SIZE");
    const Result<DeviceName> name = DeviceName::parse(item.substr(0, equals));
    if (!name.ok() || name->is_open()) return bad(item, "no device name before =");
    std::string_view size = str_trim(item.substr(equals + 1));
    const bool share = !size.empty() && size.back() == '%';
    if (share) size.remove_suffix(1);
    const std::int64_t number = parse_bytes(size);
    if (number <= 0 || (share && number > 100)) return bad(item, "no size above 0 after =");
    bool found = false;
    for (std::vector<DeviceSpec>* list : {&stock.cpus, &stock.gpus}) {
      for (DeviceSpec& spec : *list) {
        if (!name->matches(spec.name)) continue;
        found = true;
        const auto has = static_cast<double>(spec.memory_limit_bytes);
        const auto cap = share ? static_cast<std::uint64_t>(has * static_cast<double>(number) / 100)
                               : static_cast<std::uint64_t>(number);
        if (cap > spec.memory_limit_bytes) {
          return bad(item, str_cat("more than the ", format_bytes(spec.memory_limit_bytes), " there are"));
        }
        spec.memory_limit_bytes = std::max<std::uint64_t>(cap, 1);
      }
    }
    if (!found) {
      return not_found("memory caps: \"", item, "\": no such device")
          .with_id("ARG-DEV-005")
          .with_hint("argosy devices");
    }
  }
  return {};
}

// Lists the machine's GPUs, or the virtual GPUs on them; none where they cannot be used, with the reason in
// stock.report.
Status add_real_gpus(const DeviceRequest& request, Stock& stock) {
  stock.report = look_for_gpus(request);
  ARGOSY_ASSIGN_OR_RETURN(
      const auto shares,
      parse_virtual_gpus(or_environment(request.virtual_gpus, "ARGOSY_VIRTUAL_GPUS"), stock.report.facts));
  stock.gpus = gpu_specs(stock.report.facts, shares);
  return {};
}

Result<Stock> take_stock(const DeviceRequest& request, int cpus, bool wants_gpus = true) {
  Stock stock;
  ARGOSY_ASSIGN_OR_RETURN(const Emulation emulation,
                          parse_emulation(or_environment(request.emulate, "ARGOSY_EMULATE")));
  ARGOSY_ASSIGN_OR_RETURN(stock.faults, parse_faults(or_environment(request.faults, "ARGOSY_FAULTS")));
  const std::uint64_t host = host_memory_bytes();
  const int threads = request.cpu_threads > 0 ? request.cpu_threads : available_cores();
  for (int i = 0; i < cpus; ++i) {
    stock.cpus.push_back(cpu_spec(local_name("CPU", i), std::max(threads / cpus, 1), host));
  }
  const int gpus = static_cast<int>(emulation.gpus.size());
  for (int i = 0; i < gpus; ++i) {
    const EmulatedGpu& gpu = emulation.gpus[static_cast<std::size_t>(i)];
    DeviceSpec spec;
    spec.name = local_name("GPU", i);
    spec.kind = DeviceKind::kEmulated;
    // A quarter of the host's memory stays for everything else.
    spec.memory_limit_bytes =
        gpu.memory_bytes > 0 ? gpu.memory_bytes : (host / 4 * 3 / static_cast<unsigned>(gpus)) >> 20 << 20;
    spec.cores = std::max(available_cores() / gpus, 1);
    spec.speed = gpu.speed;
    spec.link_bytes_per_second = emulation.link_bytes_per_second;
    stock.gpus.push_back(std::move(spec));
  }
  if (gpus == 0 && wants_gpus) ARGOSY_RETURN_IF_ERROR(add_real_gpus(request, stock));
  for (const auto& [number, fault] : stock.faults) {
    if (number >= static_cast<int>(stock.gpus.size()) && wants_gpus) {
      return not_found("faults: gpu:", number, " is not an emulated GPU; there are ", gpus)
          .with_id("ARG-DEV-005")
          .with_hint(str_cat("--emulate ", number + 1));
    }
  }
  ARGOSY_RETURN_IF_ERROR(apply_caps(request.memory, stock));
  for (std::vector<DeviceSpec>* list : {&stock.cpus, &stock.gpus}) {
    for (DeviceSpec& spec : *list) {
      spec.name.job = request.task.job;
      spec.name.replica = request.task.replica;
      spec.name.task = request.task.task;
    }
  }
  for (DeviceSpec& spec : stock.cpus) spec = cpu_spec(spec.name, spec.cores, spec.memory_limit_bytes);
  for (DeviceSpec& spec : stock.gpus) {
    if (spec.kind == DeviceKind::kEmulated) spec.description = gpu_description(spec);
  }
  return stock;
}

Status missing(std::string_view asked, const Stock& stock, int gpus_wanted) {
  std::vector<std::string> there;
  for (const DeviceSpec& spec : stock.cpus) there.push_back(spec.name.short_string());
  for (const DeviceSpec& spec : stock.gpus) {
    there.push_back(spec.name.short_string() + (spec.kind == DeviceKind::kEmulated ? " (emulated)" : ""));
  }
  if (there.size() > 12) there = {str_cat(stock.cpus.size(), " CPUs"), str_cat(stock.gpus.size(), " GPUs")};
  // A GPU was requested, but the backend has a problem.
  if (gpus_wanted > 0 && !stock.report.problem.ok() && stock.report.problem.id() != "ARG-GPU-001") {
    const Status& problem = stock.report.problem;
    return Status(Code::kNotFound, str_cat("device ", asked, " is not here: ", problem.message(), "; there ",
                                           there.size() == 1 ? "is " : "are ", str_join(there)))
        .with_id(std::string(problem.id()))
        .with_hint(problem.hint().empty() ? str_cat("--emulate ", gpus_wanted) : problem.hint());
  }
  for (const GpuFacts& gpu : stock.report.facts) {
    if (gpus_wanted > 0 && !gpu.unusable.empty()) {
      return not_found("device ", asked, " is not here: GPU ", gpu.number, " cannot be used: ", gpu.unusable)
          .with_id("ARG-GPU-006")
          .with_hint(str_cat("--emulate ", gpus_wanted, " for emulated GPUs, or --devices cpu:0"));
    }
  }
  return not_found("device ", asked, " is not here: there ", there.size() == 1 ? "is " : "are ", str_join(there))
      .with_id("ARG-DEV-005")
      .with_hint(gpus_wanted > 0 ? str_cat("--emulate ", gpus_wanted, " for emulated GPUs, or --devices cpu:0")
                                 : std::string("argosy devices"));
}

Result<Choice> choose(const DeviceRequest& request) {
  const std::string_view devices = str_trim(request.devices);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceName> patterns, parse_devices(devices));
  ARGOSY_ASSIGN_OR_RETURN(const int cpus, cpu_count(request, patterns));
  const bool wants_gpus = patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                                          [](const DeviceName& p) { return p.type != "CPU"; });
  ARGOSY_ASSIGN_OR_RETURN(Stock stock, take_stock(request, cpus, wants_gpus));

  std::vector<DeviceSpec> asked;
  int count = 0;
  if (is_auto(devices)) {
    asked = stock.gpus.empty() ? stock.cpus : stock.gpus;
  } else if (parse_count(devices, &count)) {
    const std::vector<DeviceSpec>& from = stock.gpus.empty() ? stock.cpus : stock.gpus;
    if (count < 1) {
      return invalid_argument("devices \"", devices, "\": a count must be at least 1")
          .with_id("ARG-DEV-001")
          .with_hint("--devices 1, or --devices auto for all");
    }
    if (count > static_cast<int>(from.size()))
      return missing(str_cat("number ", from.size() + 1, " of ", count), stock, count);
    asked.assign(from.begin(), from.begin() + count);
  } else {
    std::set<std::string> seen;
    int gpus_wanted = 0;
    for (const DeviceName& p : patterns) {
      if (p.type == "GPU") gpus_wanted = std::max(gpus_wanted, p.id.value_or(0) + 1);
    }
    for (const DeviceName& pattern : patterns) {
      bool found = false;
      for (const std::vector<DeviceSpec>* list : {&stock.cpus, &stock.gpus}) {
        for (const DeviceSpec& spec : *list) {
          if (!pattern.matches(spec.name)) continue;
          found = true;
          if (!seen.insert(spec.name.to_string()).second) {
            return invalid_argument("devices \"", devices, "\": ", spec.name.short_string(), " is named twice")
                .with_id("ARG-DEV-001")
                .with_hint("name each device once");
          }
          asked.push_back(spec);
        }
      }
      if (!found) return missing(pattern.short_string(), stock, pattern.type == "GPU" ? gpus_wanted : 0);
    }
  }

  Choice choice;
  choice.backend = stock.report.backend;
  choice.cpus = std::move(stock.cpus);
  for (DeviceSpec& spec : asked) {
    if (spec.is_gpu()) {
      const int machine = *spec.name.id;
      const int session = static_cast<int>(choice.gpus.size());
      spec.name.id = session;
      spec.number = machine;
      if (machine != session) spec.description = str_cat("the machine's gpu:", machine, ", ", spec.description);
      choice.gpus.push_back(spec);
      choice.gpu_numbers.push_back(machine);
    }
    choice.chosen.push_back(spec);
  }
  return choice;
}

}  // namespace

std::string DeviceSpec::said_name() const {
  const int theirs = system_number >= 0 ? system_number : number;
  if (!is_gpu() || theirs < 0 || theirs == name.id) return name.short_string();
  return str_cat(name.short_string(), " (the machine's GPU ", theirs, ")");
}

std::string DeviceSpec::request_name() const {
  DeviceName asked = name;
  if (is_gpu() && number >= 0) asked.id = number;
  return asked.short_string();
}

std::string_view device_kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu: return "cpu";
    case DeviceKind::kEmulated: return "emulated";
    case DeviceKind::kCuda: return "cuda";
    case DeviceKind::kNull: return "null";
  }
  return "unknown";
}

Result<std::vector<std::unique_ptr<Device>>> make_devices(const DeviceRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(Choice choice, choose(request));
  for (std::vector<DeviceSpec>* list : {&choice.cpus, &choice.gpus}) {
    for (DeviceSpec& spec : *list) spec.incarnation = system_random_source().next() | 1;
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto faults, parse_faults(or_environment(request.faults, "ARGOSY_FAULTS")));
  std::vector<std::unique_ptr<Device>> devices;
  for (const DeviceSpec& spec : choice.cpus) devices.push_back(make_cpu_device(spec));
  const auto shutdown = std::make_shared<ShutdownSignal>();
  for (std::size_t i = 0; i < choice.gpus.size(); ++i) {
    const auto found = faults.find(choice.gpu_numbers[i]);
    const DeviceFaults fault = found == faults.end() ? DeviceFaults{} : found->second;
    if (choice.gpus[i].kind == DeviceKind::kEmulated) {
      devices.push_back(make_emulated_gpu(choice.gpus[i], fault, shutdown));
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(auto device, choice.backend->make(choice.gpus[i], request, fault, shutdown));
    devices.push_back(std::move(device));
  }
  return devices;
}

Result<std::vector<DeviceSpec>> list_devices(const DeviceRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(const int cpus, cpu_count(request, {}));
  ARGOSY_ASSIGN_OR_RETURN(Stock stock, take_stock(request, cpus));
  std::vector<DeviceSpec> specs = std::move(stock.cpus);
  specs.insert(specs.end(), stock.gpus.begin(), stock.gpus.end());
  return specs;
}

Result<std::vector<DeviceSpec>> chosen_devices(const DeviceRequest& request) {
  ARGOSY_ASSIGN_OR_RETURN(Choice choice, choose(request));
  return std::move(choice.chosen);
}

}  // namespace argosy
