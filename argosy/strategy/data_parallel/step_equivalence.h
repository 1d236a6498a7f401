// Decides whether a replicated step gave the values of one device, up to rounding.
//
// Of a value v, with m the largest magnitude among its elements on one device:
//
//     |replicated - one device|  <=  r * m  +  8 * noise
//
// * r belongs to the coarsest floating dtype of the step: float64 1e-10, float32 1e-4, float16 1e-2, bfloat16 3e-2.
// * `noise` is the effect of rounding alone in this step: the largest distance between the run on one device and runs
//   whose variables differ by nudged(). Some steps amplify rounding: Adam divides a gradient by its own size, a ReLU
//   flips near zero. One such run is enough to pass a step. Before a difference is reported there are kNoiseRuns of
//   them.
// * Of a variable the *update* is compared. m is the largest update, and 4 units in the last place of the variable are
//   allowed.
// * Integers, booleans and strings must be equal. Allowed are four times as many differences as between runs on one
//   device.
// * NaN and infinities must be in the same places.
#pragma once

#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy {

// Runs on one device from nudged variables before a difference is reported.
inline constexpr int kNoiseRuns = 8;

// One value of a step, in host memory.
struct StepValue {
  std::string name;
  Tensor one;         // on one device
  Tensor replicated;  // of the replicated step
  Tensor before;      // of a variable: before the step; else not valid()
  // Over all add_noise(): the largest distance; and the largest number of unequal elements, for dtypes that must be
  // equal.
  double noise = 0;
  std::int64_t unequal = 0;
};

// Adds a run from nudged variables: `after` is its value. `before`: a variable's nudged value. Not valid(): not known.
void add_noise(StepValue& value, const Tensor& after, const Tensor& before = {});

// Returns "" if the two are equivalent, else where and by how much they differ: "is float32[3] element 2: 0.702, on one
// device 0.531, …". Values that cannot be compared (handles, variants) count as equivalent.
std::string other_than_on_one_device(const StepValue& value, DType computed_in);

// The largest distance between the two, over the largest magnitude on one device (of a variable: of its update). Of
// dtypes that must be equal: the part of the elements that differ. 0: the same bits. Infinite: of other kinds, or one of
// them is not finite.
double relative_difference(const StepValue& value);

// True if rounding alone changes this value by as much as its size. other_than_on_one_device() could not see a
// difference.
bool is_noise(const StepValue& value, DType computed_in);

// The coarser of two dtypes: the precision of a step that uses both. kInvalid is finer than all.
DType coarser(DType a, DType b);

// Returns a copy with floating numbers moved by some units of `computed_in`'s last place. 32 units for float32 and
// float64: sums in another order differ by as much in a deep network. 1 unit for shorter dtypes. The direction is
// random, equal on every call and different for every `run`. Other dtypes keep their values.
Tensor nudged(const Tensor& value, DType computed_in, int run = 0);

}  // namespace argosy
