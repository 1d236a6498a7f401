// Samples of distributions with parameters. Element i of a result has 256 blocks of the stream of its own, from block
// 256 i on, whatever it uses of them: results do not depend on threads.
#pragma once

#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy::distribution {

inline constexpr std::uint64_t kBlocksPerElement = 256;

// Doubles in [0, 1), two a block, the second one first: the order in which TensorFlow uses them up.
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

// `y` holds `per_parameter` rows, each as long as `parameter`. REQUIRES: y->elements() is their product.
Status draw_gamma(const Tensor& alpha, const Tensor& y, const Philox& from);
Status draw_poisson(const Tensor& rate, const Tensor& y, const Philox& from);

// Inputs 1-4: means, deviations, lowest and highest values, each for all rows of y or one a row. `reserve` gives the
// stream for so many blocks.
Status draw_truncated_normal(KernelContext& c, const Tensor& y, SharedPhilox& generator);

// Inputs 2-5: the same four, which broadcast together to `batch`; y's shape ends with it. The numbers of a batch's
// element follow each other in the stream, and then come those of the next. REQUIRES: y is not empty.
Status draw_truncated_normal(KernelContext& c, const Tensor& y, const Shape& batch, const Philox& from);

// Numbers of successes among counts[...] trials that succeed with probs[...] each; otherwise as above.
Status draw_binomial(KernelContext& c, const Tensor& counts, const Tensor& probs, const Tensor& y, const Shape& batch,
                     const Philox& from);

// Of the ops with a generator in a variable: is `t` the number of an algorithm that we have?
Status check_algorithm(const OpDef& op, const Tensor& t);
// The stream of the variable of input 0, which then moves on by `blocks`; a copy of the state before, if asked for.
Result<Philox> advance(KernelContext& c, const OpDef& op, std::uint64_t blocks, Tensor* before = nullptr);

// For each element of a tensor of shape `batch`, which element of one of shape `from` it is after broadcasting.
// REQUIRES: `from` broadcasts to `batch`.
std::vector<std::int64_t> broadcast_indices(const Shape& from, const Shape& batch);

}  // namespace argosy::distribution
