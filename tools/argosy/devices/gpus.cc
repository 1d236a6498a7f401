#include "tools/argosy/devices/gpus.h"

#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

nlohmann::ordered_json known_or_null(std::int64_t value) {
  return value < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json card_json(const CardFacts& card) {
  return {{"number", card.number},
          {"system_number", known_or_null(card.system_number)},
          {"name", card.name},
          {"uuid", card.uuid},
          {"pci", card.pci},
          {"memory_bytes", card.memory_bytes},
          {"memory_used_bytes", known_or_null(card.memory_used_bytes)},
          {"compute_capability", str_cat(card.major, ".", card.minor)},
          {"multiprocessors", card.multiprocessors},
          {"utilisation_percent", known_or_null(card.utilisation_percent)},
          {"ecc_corrected", known_or_null(card.ecc_corrected)},
          {"ecc_uncorrected", known_or_null(card.ecc_uncorrected)},
          {"rows_pending", known_or_null(card.rows_pending)},
          {"users", card.users},
          {"links", card.links},
          {"usable", card.unusable.empty()},
          {"problem", card.unusable}};
}

}  // namespace

std::string gpu_summary(const GpuReport& report) {
  if (report.backend == nullptr) return report.problem.message();
  const std::string driver = str_cat("NVIDIA driver ", report.backend->driver());
  if (report.cards.empty()) return str_cat(driver, ", no card");
  std::vector<std::string> names;
  for (const CardFacts& card : report.cards) names.push_back(card.name);
  return str_cat(driver, "; ", str_join(names));
}

std::string gpu_table(const GpuReport& report) {
  if (report.cards.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"card", "name", "memory", "in use", "load", "capability", "address", "uuid"}};
  std::string lines;
  for (const CardFacts& card : report.cards) {
    const bool other = card.system_number >= 0 && card.system_number != card.number;
    rows.push_back({other ? str_cat(card.number, " (nvidia-smi's ", card.system_number, ")") : str_cat(card.number),
                    card.name, format_bytes(card.memory_bytes),
                    card.memory_used_bytes < 0 ? "?" : format_bytes(static_cast<std::uint64_t>(card.memory_used_bytes)),
                    card.utilisation_percent < 0 ? "?" : str_cat(card.utilisation_percent, " %"),
                    str_cat(card.major, ".", card.minor), card.pci, card.uuid});
    if (!card.unusable.empty()) lines += str_cat("card ", card.number, " cannot be used: ", card.unusable, "\n");
    if (card.ecc_uncorrected > 0) {
      lines += str_cat("card ", card.number, " has met ", card.ecc_uncorrected, " bit errors it could not mend\n");
    }
    if (!card.users.empty()) lines += str_cat("card ", card.number, " is in use by ", str_join(card.users), "\n");
    if (!card.links.empty()) lines += str_cat("card ", card.number, " reaches ", str_join(card.links), "\n");
  }
  return format_table(rows) + lines;
}

nlohmann::ordered_json gpu_json(const GpuReport& report) {
  nlohmann::ordered_json cards = nlohmann::ordered_json::array(), libraries = nlohmann::ordered_json::array();
  for (const CardFacts& card : report.cards) cards.push_back(card_json(card));
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
          {"cards", cards},
          {"cuda_libraries", libraries}};
}

}  // namespace argosy::cli
