// The random numbers of one share of a batch: those elements of the whole batch's that its rows hold. So a graph draws
// the same numbers however many devices share its batch, those TensorFlow draws on one device.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// "_Share" before the name of a random op (RandomUniform, StatelessRandomNormalV2, ...): the op that takes, after its
// inputs, a tensor that has the batch's rows, and besides its attributes `weights` and `index` of the share
// (shard_batch.h), `rows`, how many of the result every example has along the `axis` of the batch, `rounds`, how many
// times the batch goes by along it (heads times batch, time times batch), and `stream`, the node whose stream the
// shares draw from ("": each from one of its own).
inline constexpr const char* kSharePrefix = "_Share";

struct ShareDraw {
  Shape shape;  // of the share's numbers
  Philox from;
  // Of the stream's elements, the share's: one run, or, where the batch goes by more than once, in all axes up to its
  // own, as many, equally long.
  std::int64_t runs = 1;
  std::int64_t first_of_run = 0, from_run_to_run = 0;
};

// What a kernel of such an op draws. Thread-safe.
class ShareDraws {
 public:
  explicit ShareDraws(const KernelInit& init);
  // INVALID_ARGUMENT where the shape asked for is not that of the share's rows.
  Result<ShareDraw> next(KernelContext& c);

 private:
  // Where the whole batch's numbers begin, `whole` of them.
  Result<Philox> stream(KernelContext& c, std::int64_t whole);

  const std::vector<std::int64_t> weights_;
  const std::int64_t index_, rows_, axis_, rounds_;
  std::shared_ptr<SharedPhilox> generator_;  // of a stateful op: moves on by what the whole batch takes
};

}  // namespace argosy
