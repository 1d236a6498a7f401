// Samplers of distributions with parameters. Element i of a result uses blocks 256 i to 256 i + 255 of the random
// stream, however many it needs of them. So results do not depend on threads.
#pragma once

#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy::distribution {

inline constexpr std::uint64_t kBlocksPerElement = 256;

// Doubles in [0, 1), two from a block, the second one first: TensorFlow's order.
class UnitDoubles {
 public:
  double operator()(Philox& stream);

 private:
  double second_ = 0;
  bool has_first_ = false;
};
class NormalDoubles {
 public:
  double operator()(Philox& stream);

 private:
  double first_ = 0;
  bool has_first_ = false;
};

// Fills y with samples: each row has one number for each parameter. REQUIRES: the number of parameters divides
// y.elements().
Status draw_gamma(const Tensor& alpha, const Tensor& y, const Philox& from);
Status draw_poisson(const Tensor& rate, const Tensor& y, const Philox& from);

// Inputs 1-4 are means, deviations, lowest and highest values. Each has one number for all rows of y, or one per row.
// Reserves the blocks that it needs from `generator`.
Status draw_truncated_normal(KernelContext& c, const Tensor& y, SharedPhilox& generator);

// Inputs 2-5 are the same four, which broadcast to `batch`; y's shape ends with it. The stream gives all numbers of the
// first element of the batch, then those of the next. REQUIRES: y is not empty.
Status draw_truncated_normal(KernelContext& c, const Tensor& y, const Shape& batch, const Philox& from);

// Numbers of successes in counts[...] trials of probability probs[...]; otherwise as above.
Status draw_binomial(KernelContext& c, const Tensor& counts, const Tensor& probs, const Tensor& y, const Shape& batch,
                     const Philox& from);

// OK if `t` is the number of a supported algorithm, for ops with a generator in a variable.
Status check_algorithm(const OpDef& op, const Tensor& t);
// Returns the stream of the generator in the variable of input 0, and moves the generator on by `blocks`. `before`:
// gets a copy of the generator's state before that.
Result<Philox> advance(KernelContext& c, const OpDef& op, std::uint64_t blocks, Tensor* before = nullptr);

// Returns, for each element of a tensor of shape `batch`, the element of a tensor of shape `from` that it is after
// broadcasting. REQUIRES: `from` broadcasts to `batch`.
std::vector<std::int64_t> broadcast_indices(const Shape& from, const Shape& batch);

}  // namespace argosy::distribution
