#include "argosy/train/loop/sdc_check.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "argosy/comm/net/net_blobs.h"
#include "argosy/device/gpu_discovery.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

std::uint64_t content_hash(const Tensor& tensor) {
  // Four lanes, so that multiplications overlap. Each round is a bijection of its lane for a given word, and of the
  // word for a given lane. So a change of one bit always changes the hash.
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ULL;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  const auto* bytes = static_cast<const std::byte*>(tensor.raw());
  std::size_t left = tensor.bytes();
  while (left >= sizeof lanes) {
    std::uint64_t words[4];
    std::memcpy(words, bytes, sizeof words);
    for (int l = 0; l < 4; ++l) lanes[l] = std::rotl((lanes[l] ^ words[l]) * kPrime, 29);
    bytes += sizeof words;
    left -= sizeof words;
  }
  std::uint64_t rest[4] = {};
  if (left > 0) std::memcpy(rest, bytes, left);
  std::uint64_t hash = tensor.bytes();
  for (int l = 0; l < 4; ++l) hash = std::rotl((hash ^ (lanes[l] ^ rest[l]) * kPrime) * kPrime, 31);
  return hash;
}

SdcCheck::SdcCheck(CompiledModel& program, const std::vector<DeviceSpec>& devices, const DeviceRequest& request)
    : program_(program), devices_(devices) {
  possible_ = devices.size() > 1 && !program.mirrored().empty();
  bool real_gpus = false;
  for (const DeviceSpec& spec : devices) {
    possible_ = possible_ && spec.kind == devices[0].kind;
    real_gpus = real_gpus || spec.kind == DeviceKind::kCuda;
  }
  if (!real_gpus) return;
  // GPUs of two models may round differently.
  const GpuReport gpus = look_for_gpus(request);
  backend_ = gpus.backend;
  const auto facts_of = [&](const DeviceSpec& spec) -> const GpuFacts* {
    for (const GpuFacts& gpu : gpus.facts) {
      if (gpu.number == spec.physical_gpu) return &gpu;
    }
    return nullptr;
  };
  const GpuFacts* const first = facts_of(devices[0]);
  for (const DeviceSpec& spec : devices) {
    const GpuFacts* const gpu = facts_of(spec);
    if (gpu == nullptr) continue;
    possible_ = possible_ && first != nullptr && gpu->name == first->name;
    errors_[gpu->number] = gpu->ecc_uncorrected;
  }
}

std::vector<std::string> SdcCheck::broken_gpus() {
  std::vector<std::string> names;
  if (backend_ == nullptr) return names;
  const auto real_gpus = backend_->gpus();
  if (!real_gpus.ok()) return names;  // other code reports this error
  for (const GpuFacts& gpu : *real_gpus) {
    const auto before = errors_.find(gpu.number);
    if (before == errors_.end() || gpu.ecc_uncorrected <= std::max<std::int64_t>(before->second, 0)) continue;
    for (const DeviceSpec& spec : devices_) {
      if (spec.physical_gpu != gpu.number) continue;
      names.push_back(str_cat(spec.name.short_string(), " (", gpu.name, " ", gpu.uuid, ", ", gpu.ecc_uncorrected,
                              " bit errors it could not mend)"));
    }
    before->second = gpu.ecc_uncorrected;
  }
  return names;
}

Result<std::vector<std::vector<std::uint64_t>>> SdcCheck::hashes_of_mirrors() {
  RunTasks* const tasks = program_.tasks().get();
  std::vector<std::vector<std::uint64_t>> hashes(devices_.size());
  BlobWriter mine;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (tasks != nullptr && !tasks->is_own(d)) continue;
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Tensor> values, program_.mirror(static_cast<int>(d)));
    for (const Tensor& value : values) hashes[d].push_back(content_hash(value));
    for (const std::uint64_t hash : hashes[d]) mine.number(static_cast<std::int64_t>(hash));
  }
  if (tasks == nullptr) return hashes;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, tasks->all_texts(mine.bytes(), "hashes of variables"));
  std::vector<BlobReader> readers(all.begin(), all.end());
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    BlobReader& reader = readers[static_cast<std::size_t>(tasks->task_devices().task[d])];
    hashes[d].clear();
    for (std::size_t v = 0; v < program_.mirrored().size(); ++v) {
      hashes[d].push_back(static_cast<std::uint64_t>(reader.number()));
    }
  }
  return hashes;
}

Status SdcCheck::check() {
  const std::vector<std::string> broken = broken_gpus();
  const std::string next = "start again without that device, from a checkpoint of before: --resume";
  if (possible_) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::vector<std::uint64_t>> hashes, hashes_of_mirrors());
    for (std::size_t v = 0; v < program_.mirrored().size(); ++v) {
      std::map<std::uint64_t, std::vector<std::string>> by_hash;
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        by_hash[hashes[d][v]].push_back(program_.tasks() == nullptr ? devices_[d].name.short_string()
                                                                    : devices_[d].name.to_string());
      }
      if (by_hash.size() == 1) continue;
      // Those that most agree on are right.
      const auto most = std::max_element(by_hash.begin(), by_hash.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      const bool decided = most->second.size() * 2 > devices_.size();
      std::vector<std::string> suspects;
      for (const auto& [hash, names] : by_hash) {
        if (!decided || hash != most->first) suspects.insert(suspects.end(), names.begin(), names.end());
      }
      std::sort(suspects.begin(), suspects.end());
      return data_loss("silent corruption: the variable \"", program_.mirrored()[v],
                       "\" is not the same on every device: ", str_join(suspects),
                       decided ? " differs from the others" : " differ, and no majority says who is right",
                       broken.empty() ? "" : str_cat("; memory errors: ", str_join(broken)))
          .with_id("ARG-TRAIN-003")
          .with_where(decided && suspects.size() == 1 ? suspects[0] : std::string("replicas"))
          .with_hint(decided
                         ? next
                         : str_cat("the program's own test on each of them (argosy doctor), or three devices; ", next));
    }
  }
  if (!broken.empty()) {
    return data_loss("a GPU's memory has failed during this run: ", str_join(broken))
        .with_id("ARG-DEV-006")
        .with_where(broken[0].substr(0, broken[0].find(' ')))
        .with_hint(next);
  }
  return {};
}

}  // namespace argosy
