#include "tools/argosy/devices/gpus.h"

#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

nlohmann::ordered_json known_or_null(std::int64_t value) {
  return value < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json facts_json(const GpuFacts& gpu) {
  return {{"number", gpu.number},
          {"system_number", known_or_null(gpu.system_number)},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"pci", gpu.pci},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_used_bytes", known_or_null(gpu.memory_used_bytes)},
          {"compute_capability", str_cat(gpu.major, ".", gpu.minor)},
          {"multiprocessors", gpu.multiprocessors},
          {"utilisation_percent", known_or_null(gpu.utilisation_percent)},
          {"ecc_corrected", known_or_null(gpu.ecc_corrected)},
          {"ecc_uncorrected", known_or_null(gpu.ecc_uncorrected)},
          {"rows_pending", known_or_null(gpu.rows_pending)},
          {"users", gpu.users},
          {"links", gpu.links},
          {"usable", gpu.unusable.empty()},
          {"problem", gpu.unusable}};
}

}  // namespace

std::string gpu_summary(const GpuReport& report) {
  if (report.backend == nullptr) return report.problem.message();
  const std::string driver = str_cat("NVIDIA driver ", report.backend->driver());
  if (report.facts.empty()) return str_cat(driver, ", no GPU");
  std::vector<std::string> names;
  for (const GpuFacts& gpu : report.facts) names.push_back(gpu.name);
  return str_cat(driver, "; ", str_join(names));
}

std::string gpu_table(const GpuReport& report) {
  if (report.facts.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "name", "memory", "in use", "load", "capability", "address", "uuid"}};
  std::string lines;
  for (const GpuFacts& gpu : report.facts) {
    const bool other = gpu.system_number >= 0 && gpu.system_number != gpu.number;
    rows.push_back({other ? str_cat(gpu.number, " (nvidia-smi's ", gpu.system_number, ")") : str_cat(gpu.number),
                    gpu.name, format_bytes(gpu.memory_bytes),
                    gpu.memory_used_bytes < 0 ? "?" : format_bytes(static_cast<std::uint64_t>(gpu.memory_used_bytes)),
                    gpu.utilisation_percent < 0 ? "?" : str_cat(gpu.utilisation_percent, " %"),
                    str_cat(gpu.major, ".", gpu.minor), gpu.pci, gpu.uuid});
    if (!gpu.unusable.empty()) lines += str_cat("GPU ", gpu.number, " cannot be used: ", gpu.unusable, "\n");
    if (gpu.ecc_uncorrected > 0) {
      lines += str_cat("GPU ", gpu.number, " has met ", gpu.ecc_uncorrected, " bit errors it could not mend\n");
    }
    if (!gpu.users.empty()) lines += str_cat("GPU ", gpu.number, " is in use by ", str_join(gpu.users), "\n");
    if (!gpu.links.empty()) lines += str_cat("GPU ", gpu.number, " reaches ", str_join(gpu.links), "\n");
  }
  return format_table(rows) + lines;
}

nlohmann::ordered_json gpu_json(const GpuReport& report) {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array(), libraries = nlohmann::ordered_json::array();
  for (const GpuFacts& gpu : report.facts) gpus.push_back(facts_json(gpu));
  if (report.backend != nullptr) {
    for (const LibraryFacts& library : report.backend->libraries()) {
      libraries.push_back(
          {{"name", library.name}, {"version", library.version}, {"path", library.path}, {"problem", library.problem}});
    }
  }
  return {{"cuda_backend", report.backend != nullptr},
          {"driver", report.backend != nullptr ? report.backend->driver() : ""},
          {"problem", report.problem.ok() ? "" : report.problem.message()},
          {"problem_id", report.problem.ok() ? "" : std::string(report.problem.id())},
          {"cards", gpus},
          {"cuda_libraries", libraries}};
}

}  // namespace argosy::cli
