// The random numbers of one shard of a batch: those elements of the global batch's that its rows hold. So a graph draws
// the same numbers however many devices shard its batch, those TensorFlow draws on one device.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// "_Shard" before the name of a random op: _ShardRandomUniform, _ShardStatelessRandomNormalV2, ... The op takes one more
// input, a tensor that has the batch's rows, and more attributes:
// * `weights`, `index`: the shard (shard_batch.h).
// * `rows`: rows of the result per example, along the `axis` of the batch.
// * `repeats`: how often the batch repeats along it (heads times batch, time times batch).
// * `stream`: the node whose stream the shards draw from; "": each draws from a stream of its own.
inline constexpr const char* kShardPrefix = "_Shard";

struct ShardDraw {
  Shape shape;  // of the shard's numbers
  Philox from;
  // Of the stream's elements, the shard's: one run, or, where the batch repeats, in all axes up to its
  // own, as many, equally long.
  std::int64_t runs = 1;
  std::int64_t first_of_run = 0, from_run_to_run = 0;
};

// What a kernel of such an op draws. Thread-safe.
class ShardDraws {
 public:
  static Result<ShardDraws> make(const KernelInit& init);
  // INVALID_ARGUMENT where the shape asked for is not that of the shard's rows.
  Result<ShardDraw> next(KernelContext& c);

 private:
  ShardDraws(const KernelInit& init, std::shared_ptr<SharedPhilox> generator);
  // Where the global batch's numbers begin, `global` of them.
  Result<Philox> stream(KernelContext& c, std::int64_t global);

  const std::vector<std::int64_t> weights_;
  const std::int64_t index_, rows_, axis_, repeats_;
  const std::shared_ptr<SharedPhilox> generator_;  // of a stateful op: moves on by what the global batch takes
};

}  // namespace argosy
