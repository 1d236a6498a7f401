// argosy/train/tests/determinism_test.cc, with ARGOSY_LONG=1, tries every batch that is promised here.
#include "tools/argosy/train/train_determinism.h"

#include <algorithm>

#include "argosy/base/status.h"
#include "argosy/ops/collective/reduction_chunks.h"

namespace argosy::cli {

namespace {

constexpr std::int64_t kMostExamples = 512;

// `accumulate`: micro-batches on each.
std::string of_devices(std::span<const DeviceSpec> devices, int accumulate) {
  const std::size_t n = devices.size(), parts = n * static_cast<std::size_t>(accumulate);
  if (accumulate == 1 && n != 2 && n != 4 && n != 8) return str_cat("it has ", n, " devices, not 2, 4 or 8");
  if (parts != 2 && parts != 4 && parts != 8) {
    return str_cat("it has ", parts, " micro-batches on all devices together, not 2, 4 or 8");
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
  if (std::string why = of_devices(devices, accumulate); !why.empty()) return why;
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

}  // namespace argosy::cli
