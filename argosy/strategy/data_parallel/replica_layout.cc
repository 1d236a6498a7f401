#include "argosy/strategy/data_parallel/replica_layout.h"

#include <algorithm>
#include <cmath>

#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/strategy/data_parallel/data_parallel.h"

namespace argosy {

namespace {

Status check(const DataParallelOptions& options) {
  const int devices = static_cast<int>(options.devices.size());
  if (devices == 0) return invalid_argument("data parallelism needs at least one device");
  if (!options.weights.empty() && static_cast<int>(options.weights.size()) != devices) {
    return invalid_argument(options.weights.size(), " weights for ", devices, " devices");
  }
  for (const double w : options.weights) {
    if (!(w > 0) || !std::isfinite(w)) return invalid_argument("a device's weight must be above 0, not ", w);
  }
  if (options.shards > 0 && options.shards < devices) {
    return invalid_argument(options.shards, " shards cannot keep ", devices, " devices busy")
        .with_id("ARG-DP-013")
        .with_hint(str_cat("--shards ", devices, ", or at most ", options.shards, " devices with --reproducible"));
  }
  if (options.accumulate < 1 || options.accumulate > kMostMicroBatches) {
    return invalid_argument("accumulate is ", options.accumulate, "; a step has 1 to ", kMostMicroBatches,
                            " micro-batches per device")
        .with_id("ARG-DP-013")
        .with_hint("accumulate=4");
  }
  if (options.shards > 0 && options.accumulate > options.shards / devices) {
    return invalid_argument("accumulate=", options.accumulate, " on ", devices, " devices makes ",
                            options.accumulate * devices, " micro-batches, and a reproducible step has ",
                            options.shards, " at any number of devices")
        .with_id("ARG-DP-013")
        .with_hint(str_cat("--shards ", options.accumulate * devices, ", or accumulate=", options.shards / devices));
  }
  return ok_status();
}

// Returns the largest power of two for which every block of so many shards lies on one device.
int block_of(const std::vector<int>& device_of) {
  const int shards = static_cast<int>(device_of.size());
  const auto fits = [&](int block) {
    for (int first = 0; first < shards; first += block) {
      if (device_of[first] != device_of[std::min(first + block, shards) - 1]) return false;
    }
    return true;
  };
  int block = 1;
  while (block < shards && fits(2 * block)) block *= 2;
  return block;
}

}  // namespace

int ReplicaLayout::first_shard(int device) const {
  return static_cast<int>(std::find(device_of.begin(), device_of.end(), device) - device_of.begin());
}

Result<ReplicaLayout> make_layout(const DataParallelOptions& options) {
  ARGOSY_RETURN_IF_ERROR(check(options));
  ReplicaLayout layout{.devices = options.devices,
                       .accumulate = options.accumulate,
                       .first_bucket_bytes = options.first_bucket_bytes,
                       .bucket_bytes = options.bucket_bytes};
  const int devices = static_cast<int>(options.devices.size());
  std::vector<double> speeds = options.weights;
  speeds.resize(devices, 1.0);
  const double fastest = *std::max_element(speeds.begin(), speeds.end());
  if (options.shards == 0) {
    for (int d = 0; d < devices; ++d) {
      const auto weight = std::max<std::int64_t>(1, std::llround(speeds[d] / fastest * 1000));
      layout.weights.insert(layout.weights.end(), options.accumulate, weight);
      layout.device_of.insert(layout.device_of.end(), options.accumulate, d);
    }
    layout.block = options.accumulate;
    const bool alike = std::all_of(speeds.begin(), speeds.end(), [&](double w) { return w == fastest; });
    if (!options.losses.empty() && alike && kReductionChunks % layout.shards() == 0) {
      layout.chunks = kReductionChunks / layout.shards();
    }
    return layout;
  }
  // Equal shards; faster devices take more of them, every device at least one.
  double total = 0, done = 0;
  for (const double w : speeds) total += w;
  for (int d = 0; d < devices; ++d) {
    done += speeds[d];
    const int end = std::clamp(static_cast<int>(std::lround(options.shards * done / total)),
                               static_cast<int>(layout.device_of.size()) + 1, options.shards - (devices - 1 - d));
    layout.device_of.resize(end, d);
  }
  layout.weights.assign(options.shards, 1);
  layout.block = block_of(layout.device_of);
  return layout;
}

}  // namespace argosy
