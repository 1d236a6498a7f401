#include "tools/argosy/devices/doctor_machine.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "argosy/base/system/file.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/device/pool.h"

extern "C" char** environ;

namespace argosy::cli {

namespace {

// The value of the first "key: value" line of a file in /proc.
std::string field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(str_trim(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::uint64_t kibibytes(const std::string& value) { return std::strtoull(value.c_str(), nullptr, 10) * 1024; }

std::vector<std::string> nvidia_gpus() {
  const std::string folder = "/proc/driver/nvidia/gpus";
  std::vector<std::string> models;
  const auto gpus = list_directory(folder);
  if (!gpus.ok()) return models;
  for (const std::string& gpu : *gpus) models.push_back(field(str_cat(folder, "/", gpu, "/information"), "Model"));
  return models;
}

std::vector<DiskFacts> disks() {
  const char* scratch = std::getenv("TMPDIR");
  std::vector<DiskFacts> found;
  for (const std::string& path : {std::string("."), std::string(scratch != nullptr ? scratch : "/tmp")}) {
    struct statvfs info {};
    if (statvfs(path.c_str(), &info) != 0) continue;
    found.push_back({path, info.f_bavail * info.f_frsize, info.f_blocks * info.f_frsize});
  }
  return found;
}

std::vector<std::string> settings() {
  constexpr std::string_view kPrefixes[] = {"ARGOSY_", "TF_CPP_MIN_LOG_LEVEL=", "OMP_", "GOMP_", "ONEDNN_",
                                            "DNNL_",   "CUDA_VISIBLE_DEVICES="};
  std::vector<std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    for (const std::string_view prefix : kPrefixes) {
      if (text.starts_with(prefix)) found.emplace_back(text);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

MachineFacts inspect_machine() {
  MachineFacts facts;
  facts.cpu_model = field("/proc/cpuinfo", "model name");
  utsname system{};
  if (uname(&system) == 0) facts.kernel = str_cat(system.sysname, " ", system.release, " ", system.machine);
  facts.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.usable_cores = available_cores();
  facts.memory_bytes = kibibytes(field("/proc/meminfo", "MemTotal"));
  facts.memory_free_bytes = kibibytes(field("/proc/meminfo", "MemAvailable"));
  facts.memory_usable_bytes = std::min(facts.memory_bytes, host_memory_bytes());
  facts.nvidia_driver = file_exists("/proc/driver/nvidia/version");
  facts.nvidia_gpus = nvidia_gpus();
  facts.disks = disks();
  facts.settings = settings();
  return facts;
}

}  // namespace argosy::cli
