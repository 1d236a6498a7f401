// One case of an op is data; the harness does the rest:
//
//   check({.op = "Softmax", .inputs = {Tensor::of<float>({1, 2}, {1000, 1000})}, .expect = {Tensor::of<float>({1, 2},
//   {.5, .5})}});
//
// runs the shape function and holds it against the result; every kernel of the op's list, first and reference; the same
// case in every other dtype the op's type attribute allows (rounded to it); and the gradient, if the op has one,
// against central finite differences in float64.
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
  Code error = Code::kOk;           // or: the error that must come, from building or running
  std::string error_contains = "";
  double tolerance = 1e-5;   // relative to max(1, |expected|), for float32; scaled for other dtypes
  bool other_dtypes = true;  // also float64, bfloat16, float16 (and integers, for integer cases)
  bool check_gradient = true;
  std::vector<int> constant_inputs = {};  // inputs the gradient check holds fixed beside integer ones (labels, shapes)
  double gradient_tolerance = 1e-5;
  std::string unlike_tensorflow =
      "";  // why TensorFlow answers otherwise, where it does: read by the oracle (op_dump.h)
};

// Reports through GoogleTest expectations.
void check(const OpCase& c);

// A case's tolerance, which is float32's, for results of another dtype.
double dtype_tolerance(DType d, double tolerance);
// Values of `t` in another real dtype.
Tensor cast_to(const Tensor& t, DType dtype);
// Elementwise closeness of two tensors of one dtype and shape; NaN equals NaN. The text says where they differ; empty:
// close.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);
// Uniform in [low, high), from a fixed generator: the same for the same arguments on every machine.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed = 1, double low = -1, double high = 1);

}  // namespace argosy
