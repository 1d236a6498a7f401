// The random numbers of one share of a batch: those elements of the whole batch's that its rows hold. So a graph draws
// the same numbers however many devices share its batch, those TensorFlow draws on one device.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// "_Share" before the name of a random op (RandomUniform, StatelessRandomNormalV2, ...): the op that takes, after its
// inputs, a tensor that has the batch's rows, and besides its attributes `weights` and `index` of the share
// (batch_share.h), `rows`, how many rows of the result every example has, and `stream`, the node whose stream the
// shares draw from ("": each from one of its own).
inline constexpr const char* kSharePrefix = "_Share";

struct ShareDraw {
  Shape shape;             // of the share's numbers
  std::int64_t first = 0;  // which element of the stream's is the first of them
  Philox from;
};

// What a kernel of such an op draws. Thread-safe.
class ShareDraws {
 public:
  explicit ShareDraws(const KernelInit& init);
  // INVALID_ARGUMENT where the shape asked for is not that of the share's rows.
  Result<ShareDraw> next(KernelContext& c);

 private:
  const std::vector<std::int64_t> weights_;
  const std::int64_t index_, rows_;
  std::shared_ptr<SharedPhilox> generator_;  // of a stateful op: moves on by what the whole batch takes
};

}  // namespace argosy
