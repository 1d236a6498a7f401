#include "argosy/device/gpu_discovery.h"

#include <algorithm>
#include <charconv>

#include "argosy/device/plugin.h"

namespace argosy {

namespace {

constexpr int kMostShares = 64;

Status bad_shares(std::string_view part, std::string_view why) {
  return invalid_argument("virtual GPUs: \"", part, "\": ", why)
      .with_id("ARG-DEV-002")
      .with_hint("ARGOSY_VIRTUAL_GPUS=2 for two on every physical GPU, or 0:2,1:4 by number");
}

bool parse_number(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

// Memory for a context, for cuBLAS and cuDNN themselves, and for fragmentation.
std::uint64_t reserve(std::uint64_t bytes) {
  return std::min(bytes / 4, std::max<std::uint64_t>(std::uint64_t{640} << 20, bytes / 32));
}

}  // namespace

GpuReport look_for_gpus(const DeviceRequest& request) {
  GpuReport report;
  if (request.gpus != nullptr) {
    report.backend = request.gpus;
  } else {
    auto opened = open_cuda_plugin();
    if (!opened.ok()) {
      report.problem = std::move(opened).status();
      return report;
    }
    report.backend = *std::move(opened);
  }
  auto gpus = report.backend->gpus();
  if (gpus.ok()) {
    report.facts = *std::move(gpus);
  } else {
    report.problem = std::move(gpus).status();
    report.backend = nullptr;
  }
  return report;
}

Result<std::map<int, int>> parse_virtual_gpus(std::string_view text, const std::vector<GpuFacts>& gpus) {
  std::map<int, int> shares;
  for (const GpuFacts& gpu : gpus) shares[gpu.number] = 1;
  text = str_trim(text);
  if (text.empty()) return shares;
  for (const std::string& untrimmed : str_split(text, ',')) {
    const std::string_view item = str_trim(untrimmed);
    const std::size_t colon = item.find(':');
    int gpu = -1, count = 0;
    if (colon != std::string_view::npos && !parse_number(item.substr(0, colon), &gpu)) {
      return bad_shares(item, "no GPU's number before the colon");
    }
    if (!parse_number(colon == std::string_view::npos ? item : item.substr(colon + 1), &count) || count < 1 ||
        count > kMostShares) {
      return bad_shares(item, str_cat("a physical GPU is shared by 1 to ", kMostShares));
    }
    if (gpu >= 0 && !shares.contains(gpu)) {
      return bad_shares(item, str_cat("there is no GPU ", gpu, "; there are ", gpus.size()));
    }
    for (auto& [number, share] : shares) {
      if (gpu < 0 || gpu == number) share = count;
    }
  }
  return shares;
}

std::vector<DeviceSpec> gpu_specs(const std::vector<GpuFacts>& gpus, const std::map<int, int>& shares) {
  std::vector<DeviceSpec> specs;
  for (const GpuFacts& gpu : gpus) {
    if (!gpu.unusable.empty()) continue;
    const auto found = shares.find(gpu.number);
    const int count = found == shares.end() ? 1 : found->second;
    for (int i = 0; i < count; ++i) {
      DeviceSpec spec;
      spec.name = {"localhost", 0, 0, "GPU", static_cast<int>(specs.size())};
      spec.kind = DeviceKind::kCuda;
      spec.physical_gpu = gpu.number;
      spec.system_number = gpu.system_number;
      spec.memory_limit_bytes =
          (gpu.memory_bytes - reserve(gpu.memory_bytes)) / static_cast<unsigned>(count) >> 20 << 20;
      spec.description = str_cat(gpu.name, ", compute capability ", gpu.major, ".", gpu.minor, ", ", gpu.pci);
      if (gpu.system_number >= 0 && gpu.system_number != spec.name.id) {
        spec.description = str_cat("nvidia-smi's GPU ", gpu.system_number, ", ", spec.description);
      }
      if (count > 1) spec.description += str_cat(", virtual GPU ", i + 1, " of ", count, " on this physical GPU");
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace argosy
