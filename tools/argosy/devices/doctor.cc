#include <nlohmann/json.hpp>

#include "argosy/base/str.h"
#include "argosy/device/gpu_discovery.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/devices/doctor_machine.h"
#include "tools/argosy/devices/gpu_links.h"
#include "tools/argosy/devices/gpus.h"
#include "tools/argosy/version.h"

namespace argosy::cli {

namespace {

constexpr const char* kEmulationExample = "argosy train autoencoder --emulate 2";

// Findings, each with its cure.
std::vector<std::string> advice(const MachineFacts& facts, const GpuReport& gpus, const GpuLinks& links) {
  const BuildInfo build = build_info();
  std::vector<std::string> list;
  if (!facts.nvidia_gpus.empty() && gpus.backend == nullptr) {
    list.push_back(str_cat("the ", facts.nvidia_gpus.size(), " NVIDIA GPU(s) are left alone: ", gpus.problem.message(),
                           gpus.problem.hint().empty() ? "" : "; " + gpus.problem.hint()));
  }
  for (const GpuFacts& gpu : gpus.facts) {
    if (!gpu.unusable.empty()) list.push_back(str_cat("GPU ", gpu.number, " cannot be used: ", gpu.unusable));
    if (gpu.ecc_uncorrected > 0) {
      list.push_back(str_cat("GPU ", gpu.number, " has met ", gpu.ecc_uncorrected,
                             " bit errors it could not mend since its driver started: end what runs on it, nvidia-smi "
                             "-r -i ",
                             gpu.pci, ", and have it looked at if they come again"));
    }
    if (gpu.rows_pending > 0) {
      list.push_back(str_cat("GPU ", gpu.number, " replaces ", gpu.rows_pending,
                             " rows of its memory at its next reset: nvidia-smi -r -i ", gpu.pci));
    }
  }
  const std::vector<std::string> of_links = links_advice(links);
  list.insert(list.end(), of_links.begin(), of_links.end());
  if (gpus.backend != nullptr) {
    for (const LibraryFacts& library : gpus.backend->libraries()) {
      if (library.problem.empty()) continue;
      list.push_back(str_cat(library.problem, library.name == "NVML"
                                                  ? "; who uses the GPUs, their load and their links are not shown"
                                                  : "; what needs it runs on plain kernels"));
    }
  }
  if (build.type != "Release" || !build.sanitizers.empty()) {
    list.push_back(str_cat("this is a ", build.type, build.sanitizers.empty() ? "" : " build with sanitizers",
                           build.sanitizers.empty() ? " build" : "",
                           ", several times slower than a release: cmake --workflow --preset release"));
  }
  if (facts.usable_cores < facts.cores) {
    list.push_back(str_cat("only ", facts.usable_cores, " of ", facts.cores,
                           " cores may be used (affinity mask or cgroup quota); give the job more if it is too slow"));
  }
  if (facts.memory_free_bytes < (std::uint64_t{1} << 30)) {
    list.push_back(
        str_cat("only ", format_bytes(facts.memory_free_bytes), " of memory are free; use a smaller --batch or --mem"));
  }
  for (const DiskFacts& disk : facts.disks) {
    if (disk.free_bytes < (std::uint64_t{1} << 30)) {
      list.push_back(str_cat("only ", format_bytes(disk.free_bytes), " of disk are free at ", disk.path,
                             "; checkpoints may not fit"));
    }
  }
  return list;
}

nlohmann::ordered_json to_json(const MachineFacts& facts, const GpuReport& gpus, const GpuLinks& links) {
  nlohmann::ordered_json json = gpu_json(gpus);
  json.update(links_json(links));
  json["nvidia_driver"] = facts.nvidia_driver;
  json["nvidia"] = facts.nvidia_gpus;
  nlohmann::ordered_json libraries_found = nlohmann::ordered_json::object(), disks = nlohmann::ordered_json::array();
  for (const Library& library : libraries()) libraries_found[library.name] = library.version;
  for (const DiskFacts& disk : facts.disks) {
    disks.push_back({{"path", disk.path}, {"free_bytes", disk.free_bytes}, {"total_bytes", disk.total_bytes}});
  }
  return {{"schema_version", 1},
          {"version", build_info().version},
          {"build_type", build_info().type},
          {"compiler", build_info().compiler},
          {"kernel", facts.kernel},
          {"cpu",
           {{"model", facts.cpu_model},
            {"cores", facts.cores},
            {"usable_cores", facts.usable_cores},
            {"isa", onednn_isa()}}},
          {"memory",
           {{"bytes", facts.memory_bytes},
            {"usable_bytes", facts.memory_usable_bytes},
            {"free_bytes", facts.memory_free_bytes}}},
          {"gpus", json},
          {"backends", backends()},
          {"disks", disks},
          {"libraries", libraries_found},
          {"settings", facts.settings},
          {"advice", advice(facts, gpus, links)}};
}

std::string to_text(const MachineFacts& facts, const GpuReport& gpus, const GpuLinks& links, const Console& console) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& what) {
    std::string left(name);
    left.resize(11, ' ');
    text += str_cat(console.on_stdout(Style::kBold, left), what, "\n");
  };
  const BuildInfo build = build_info();
  line("argosy", str_cat(build.version, ", ", build.compiler, ", ", build.type));
  line("system", facts.kernel);
  line("cpu", str_cat(facts.cpu_model.empty() ? "unknown" : facts.cpu_model, ", ", facts.usable_cores, " of ",
                      facts.cores, " cores usable, oneDNN uses ", onednn_isa()));
  line("memory", str_cat(format_bytes(facts.memory_bytes), ", ", format_bytes(facts.memory_free_bytes), " free",
                         facts.memory_usable_bytes < facts.memory_bytes
                             ? ", limited to " + format_bytes(facts.memory_usable_bytes)
                             : ""));
  line("gpus", gpu_summary(gpus));
  if (gpus.backend != nullptr) {
    for (const LibraryFacts& library : gpus.backend->libraries()) {
      line("",
           library.problem.empty() ? str_cat(library.name, " ", library.version, ", ", library.path) : library.problem);
    }
  }
  if (const std::string table = links_table(links); !table.empty()) {
    line("links", "GB/s of large copies, from the row's side to the column's; the host's memory is pinned");
    for (const std::string& row : str_split(str_trim(table), '\n')) line("", row);
  }
  if (const std::string sums = links_sums(links); !sums.empty()) line("sums", sums);
  line("", str_cat("two emulated ones, in host memory: ", kEmulationExample));
  for (const DiskFacts& disk : facts.disks) {
    line("disk", str_cat(disk.path, ": ", format_bytes(disk.free_bytes), " free of ", format_bytes(disk.total_bytes)));
  }
  std::vector<std::string> names;
  for (const Library& library : libraries()) names.push_back(str_cat(library.name, " ", library.version));
  line("libraries", str_join(names));
  for (const std::string& setting : facts.settings) line("setting", setting);
  const std::vector<std::string> hints = advice(facts, gpus, links);
  for (const std::string& hint : hints) line("advice", hint);
  if (hints.empty()) line("advice", "nothing to complain about");
  return text;
}

}  // namespace

void define_doctor(Command& program) {
  Command& doctor = program.add("doctor", "What this machine can do, and what holds it back");
  bool& quick = doctor.own<bool>();
  doctor.option("--quick", quick, "look only: take no GPU, try no link")
      .json()
      .example("argosy doctor", "a report to read, or to paste into a bug report")
      .example("argosy doctor --json", "the same for scripts")
      .about(
          "Changes nothing. Where there are GPUs, copies between all of them and to the host's memory are made, "
          "looked\n"
          "at and timed: that takes 32 MiB of each for a moment, unless --quick is given. Environment variables that\n"
          "change what argosy does are listed with their values: look through the report before you make it public.")
      .runs([&quick](Console& console) -> Result<int> {
        const MachineFacts facts = inspect_machine();
        const GpuReport gpus = look_for_gpus({});
        const GpuLinks links = quick || gpus.backend == nullptr ? GpuLinks() : gpus.backend->try_links();
        console.print(console.json() ? to_json(facts, gpus, links).dump(2) + "\n"
                                     : to_text(facts, gpus, links, console));
        return kDone;
      });
}

}  // namespace argosy::cli
