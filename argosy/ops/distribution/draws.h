// Samples of distributions with parameters. Element i of a result has 256 blocks of the stream of its own, from block
// 256 i on, whatever it uses of them: results do not depend on threads.
#pragma once

#include "argosy/op/kernel.h"
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

}  // namespace argosy::distribution
