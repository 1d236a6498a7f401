// Decides whether a replicated step gave the values of one device, up to rounding.
//
// A value passes if each of its elements is close to one device's. m is the largest magnitude of its elements on one
// device:
//
//     |replicated - one device|  <=  r * m  +  8 * noise
//
// * r belongs to the coarsest floating dtype of the step: float64 1e-10, float32 1e-4, float16 1e-2, bfloat16 3e-2.
// * `noise` is the effect of rounding alone in this step: the largest distance between the run on one device and runs
//   whose variables differ by perturbed(). Some steps amplify rounding: Adam divides a gradient by its own size, a ReLU
//   flips near zero. One such run is enough to pass a step. Before a difference is reported there are kNoiseRuns of
//   them.
// * For a variable, the *update* is compared. m is the largest update, and 4 units in the last place of the variable
//   are allowed in addition.
// * Integers, booleans and strings must be equal. The number of unequal elements may be four times the largest number
//   between runs on one device.
// * NaN and infinities must be in the same places.
#pragma once

#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy {

// Runs on one device from perturbed variables before a difference is reported.
inline constexpr int kNoiseRuns = 8;

// One value of a step, in host memory.
struct StepValue {
  std::string name;
  Tensor one_device;
  Tensor replicated;  // of the replicated step
  Tensor before;      // of a variable: before the step; else not valid()
  // Over all add_noise(): the largest distance; and the largest number of unequal elements, for dtypes that must be
  // equal.
  double noise = 0;
  std::int64_t unequal = 0;
};

// Updates `noise` and `unequal` by a run on one device from perturbed variables. `after`: the value in that run.
// `before`: for a variable, its perturbed value before the step; else not valid().
void add_noise(StepValue& value, const Tensor& after, const Tensor& before = {});

// Returns "" if the two are equivalent, else where and by how much they differ: "is float32[3] element 2: 0.702, on one
// device 0.531, …". Values that cannot be compared (handles, variants) count as equivalent.
std::string other_than_on_one_device(const StepValue& value, DType computed_in);

// Returns the largest distance between the two, over the largest magnitude on one device (of a variable: of its
// update). For dtypes that must be equal it returns the fraction of unequal elements. 0: all elements are equal.
// Infinite: the dtypes or shapes differ, or elements differ and one of them is not finite or that magnitude is 0.
double relative_difference(const StepValue& value);

// True if rounding alone changes this value by as much as its size. other_than_on_one_device() could not see a
// difference.
bool is_noise(const StepValue& value, DType computed_in);

// The coarser of two dtypes: the precision of a step that uses both. kInvalid is finer than all.
DType coarser(DType a, DType b);

// Returns a copy whose floating-point elements are changed by some units in the last place. The unit is that of the
// coarser of `computed_in` and the tensor's dtype. It is 32 units for float32 and float64: sums in another order differ
// by as much in a deep network. It is 1 unit for shorter dtypes. The directions are pseudo-random, seeded by `run`
// alone. Other dtypes keep their values.
Tensor perturbed(const Tensor& value, DType computed_in, int run = 0);

}  // namespace argosy
