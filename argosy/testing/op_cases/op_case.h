// One case of an op is data:
//
//   check({.op = "Softmax", .inputs = {Tensor::of<float>({1, 2}, {1000, 1000})}, .expect = {Tensor::of<float>({1, 2},
//   {.5, .5})}});
//
// The harness checks
// * the shape function against the results;
// * the first kernel of the op's list and the last, plain one against the expected outputs, or against each other;
// * the same case in every other dtype that the op's type attribute allows (rounded to it);
// * the gradient, if the op has one, against central finite differences in float64.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct OpCase {
  std::string op;
  std::vector<Tensor> inputs = {};
  AttrMap attrs = {};
  std::vector<Tensor> expect = {};  // the outputs; empty: first kernel against reference kernel only
  Code error = Code::kOk;           // or: the error that building or running must return
  std::string error_contains = "";
  double tolerance = 1e-5;   // relative to max(1, |expected|), for float32; scaled for other dtypes
  bool other_dtypes = true;  // also float64, bfloat16, float16 (and integers, for integer cases)
  bool check_gradient = true;
  std::vector<int> constant_inputs =
      {};  // inputs that the gradient check keeps fixed (labels, shapes); integers always are
  double gradient_tolerance = 1e-5;
  std::string unlike_tensorflow =
      "";  // why TensorFlow gives another result, if it does: read by the oracle (op_dump.h)
};

// Reports through GoogleTest expectations.
void check(const OpCase& c);

// The tolerance for results of another dtype, from the case's tolerance for float32.
double dtype_tolerance(DType d, double tolerance);
// The values of `t` in another real dtype.
Tensor cast_to(const Tensor& t, DType dtype);
// Compares two tensors of one dtype and shape element by element; NaN equals NaN. Returns where they differ; empty:
// they are close.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);
// Uniform in [low, high), from a fixed generator: the same for the same arguments on every machine.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed = 1, double low = -1, double high = 1);

}  // namespace argosy
