// ReplicaLayout: the shards of a batch, the device of each, and the blocks of shards whose sums a device makes by
// itself. Internal to strategy/.
//
//   shards     0   1   2   3 │ 4   5   6   7        accumulate = 4 on two devices
//   turns      0   1   2   3 │ 0   1   2   3        of each device, one after the other
//   sums      (0 + 1)+(2 + 3)│(4 + 5)+(6 + 7)       blocks, added on the device as its turns end
//                         all-reduce                 the same tree, over blocks
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

struct DataParallelOptions;

struct ReplicaLayout {
  std::vector<std::string> devices;
  std::vector<std::int64_t> weights;  // of the shards
  std::vector<int> device_of;         // by shard; ascending
  // Reduction chunks per shard (ops/collective/reduction_chunks.h); 0: not used.
  int chunks = 0;
  // Shards [k * block, (k + 1) * block) are on one device, which adds their values up. The last block may be shorter.
  int block = 1;
  int accumulate = 1;  // DataParallelOptions::accumulate
  std::size_t first_bucket_bytes = 0, bucket_bytes = 0;

  int shards() const { return static_cast<int>(weights.size()); }
  int blocks() const { return (shards() + block - 1) / block; }
  int first_shard(int device) const;
  // True if some device has several shards, which it computes one after another.
  bool has_turns() const { return weights.size() > devices.size(); }
  int turn_of(int shard) const { return shard - first_shard(device_of[shard]); }
};

// Spreads a batch over the devices of `options`. Every device computes the same split:
// - without `shards`, speeds become integer weights of the shards;
// - with `shards`, all shards are equal, and faster devices have more of them.
//
// INVALID_ARGUMENT:
// - there are no devices, or there are weights, but not one for each device;
// - a weight is not finite and above 0;
// - `accumulate` is not in 1 … kMostMicroBatches;
// - there are fewer shards than devices or micro-batches.
Result<ReplicaLayout> make_layout(const DataParallelOptions& options);

}  // namespace argosy
