// argosy/train/tests/determinism_test.cc, with ARGOSY_LONG=1, tries every batch that is promised here.
#include "tools/argosy/train/train_determinism.h"

#include <algorithm>

#include "argosy/base/status.h"
#include "argosy/ops/collective/reduction_chunks.h"

namespace argosy::cli {

namespace {

constexpr std::int64_t kMostExamples = 512;

// `accumulate`: micro-batches on each. `shards`: of the batch, whose sums are added up as a tree.
std::string of_devices(std::span<const DeviceSpec> devices, int accumulate, int shards) {
  const int n = static_cast<int>(devices.size()), parts = n * accumulate;
  if (shards % parts != 0) {
    const std::string wanted = shards == 8 ? "not 2, 4 or 8" : str_cat("which do not divide ", shards, " shards");
    if (accumulate == 1) return str_cat("it has ", n, " devices, ", wanted);
    return str_cat("it has ", parts, " micro-batches on all devices together, ", wanted);
  }
  for (const DeviceSpec& d : devices) {
    if (d.kind == DeviceKind::kCuda) return "CUDA GPUs add up in orders of their own";
    if (d.kind != devices[0].kind) return "its devices are of several kinds";
    if (d.speed != devices[0].speed) return "its devices are not equally fast, and take shares of other sizes";
  }
  return "";
}

std::string of_batch(std::int64_t batch, bool even) {
  if (batch < kMinChunkedExamples) return str_cat("has fewer than ", kMinChunkedExamples, " examples");
  if (batch > kMostExamples) return str_cat("has more than ", kMostExamples, " examples");
  if (even && batch % kReductionChunks != 0) return str_cat("does not divide by ", kReductionChunks);
  return "";
}

}  // namespace

std::string why_not_bit_identical(const TrainChoices& choices, std::span<const DeviceSpec> devices,
                                  const StepSizes& sizes) {
  const int accumulate = sizes.accumulate;
  if (devices.size() < 2 && accumulate < 2) return "";
  const int shards = choices.reproducible && choices.shards > 0 ? choices.shards : kReductionChunks;
  if (std::string why = of_devices(devices, accumulate, shards); !why.empty()) return why;
  if (choices.reproducible) return "";
  const bool even = choices.model == "autoencoder";
  if (!even && choices.model != "mlp" && choices.model != "lenet") {
    return str_cat(choices.model, " has layers whose sums over the batch are cut otherwise on every number of devices");
  }
  if (choices.precision != "fp32") return str_cat("it computes in ", choices.precision, ", not in fp32");
  if (const std::string why = of_batch(sizes.batch, even); !why.empty()) {
    return str_cat("a batch of ", sizes.batch, " ", why);
  }
  const std::int64_t last = sizes.batch > 0 ? sizes.examples % sizes.batch : 0;
  const bool comes = sizes.steps > sizes.examples / std::max<std::int64_t>(sizes.batch, 1);
  if (last > 0 && comes) {
    if (const std::string why = of_batch(last, even); !why.empty()) {
      return str_cat("an epoch's last batch, of ", last, ", ", why);
    }
  }
  return "";
}

std::string flags_for_equal_bits(std::size_t devices, int accumulate) {
  const int parts = static_cast<int>(devices) * accumulate;
  return kReductionChunks % parts == 0 ? "--reproducible" : str_cat("--reproducible --shards ", parts);
}

}  // namespace argosy::cli
