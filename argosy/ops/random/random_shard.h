// Random numbers for one shard of a batch: those elements of the global batch's numbers that belong to the shard's
// rows. So a graph draws the same numbers, those of TensorFlow on one device, however many devices shard its batch.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// The ops' names are "_Shard" and the name of a random op: _ShardRandomUniform, _ShardStatelessRandomNormalV2, ... Such
// an op has one more input, a tensor whose first axis is the global batch, and more attributes:
// * `weights`, `index`: the shard (shard_batch.h).
// * `rows`: rows of the result per example, along the `axis` of the batch.
// * `repeats`: how often the batch repeats along the axis, as in a merged axis of heads and batch, or time and batch.
// * `stream`: the node whose stream all shards draw from; "": each shard has a stream of its own.
inline constexpr const char* kShardPrefix = "_Shard";

struct ShardDraw {
  Shape shape;  // the shape of the shard's numbers
  Philox from;  // the global batch's stream
  // The shard's elements within the stream: `runs` contiguous runs of equal length. There are several where axes
  // precede the batch's, or the batch repeats.
  std::int64_t runs = 1;
  std::int64_t first_of_run = 0, from_run_to_run = 0;
};

// Computes the draws of a kernel of such an op. Thread-safe.
class ShardDraws {
 public:
  static Result<ShardDraws> make(const KernelInit& init);
  // INVALID_ARGUMENT: the requested shape does not fit the shard's rows.
  Result<ShardDraw> next(KernelContext& c);

 private:
  ShardDraws(const KernelInit& init, std::shared_ptr<SharedPhilox> generator);
  // The stream of the global batch's numbers, of which there are `global`.
  Result<Philox> stream(KernelContext& c, std::int64_t global);

  const std::vector<std::int64_t> weights_;
  const std::int64_t index_, rows_, axis_, repeats_;
  const std::shared_ptr<SharedPhilox> generator_;  // stateful ops: advances by the global batch's numbers; else null
};

}  // namespace argosy
