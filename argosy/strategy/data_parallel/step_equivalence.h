// Whether what a replicated step gave is what one device gives, but for rounding.
//
// Of a value v, with m the largest magnitude among its elements on one device:
//
//     |replicated - one device|  <=  r * m  +  8 * noise
//
// r is of the coarsest floating dtype that the step computes in: float64 1e-10, float32 1e-4, float16 1e-2, bfloat16
// 3e-2. `noise` is what rounding alone does in this step: the largest distance between the run on one device and runs
// there whose variables differ by nudged(). Some steps amplify it: Adam divides a gradient by its own size, a ReLU near
// zero turns. One such run is enough to pass a step; before a difference is told there are kNoiseRuns of them. Of a
// variable the *update* is compared, with m the largest update, and 4 units in the last place of the variable are
// allowed. Whole numbers, booleans and strings must be equal, but for four times as many elements as differed between
// runs on one device. NaN and infinities must be in the same places.
#pragma once

#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy {

// Runs on one device from nudged variables, before a difference counts as one.
inline constexpr int kNoiseRuns = 8;

// One value of a step; all in the host's memory.
struct StepValue {
  std::string name;
  Tensor one;         // on one device
  Tensor replicated;  // as it is to be checked
  Tensor before;      // of a variable: before the step; else not valid()
  // Of all add_noise(): the largest distance, and of what must be equal how many elements differed.
  double noise = 0;
  std::int64_t unequal = 0;
};

// What a run from nudged variables made of it. `before`: of a variable, as it was nudged. Not valid(): not known.
void add_noise(StepValue& value, const Tensor& after, const Tensor& before = {});

// "" when they are the same, else where and by how much: "is float32[3] element 2: 0.702, on one device 0.531, …".
// Values that cannot be compared (handles, variants) are the same.
std::string other_than_on_one_device(const StepValue& value, DType computed_in);

// Rounding alone changes this value as much as the value itself: other_than_on_one_device() would not see a thing.
bool is_noise(const StepValue& value, DType computed_in);

// The coarser of two: what a step computes in that uses both. kInvalid is finer than all.
DType coarser(DType a, DType b);

// A copy whose floating numbers are off by some units of `computed_in`'s last place (32 of float32 and float64, as much
// as sums in another order come apart in a deep network; 1 of shorter ones), up or down by chance that is the same
// every time and another one in every `run`; of other dtypes the same values.
Tensor nudged(const Tensor& value, DType computed_in, int run = 0);

}  // namespace argosy
