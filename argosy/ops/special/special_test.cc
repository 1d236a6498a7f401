#include "argosy/ops/special/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(SpecialOps, OneArgument) {
  const struct {
    const char* op;
    double low, high;
  } kRows[] = {
      {"Erfinv", -0.95, 0.95}, {"Ndtri", 0.02, 0.98}, {"BesselI0", -4, 4},  {"BesselI0e", 0.1, 4},
      {"BesselI1", -4, 4},     {"BesselI1e", 0.1, 4}, {"BesselJ0", -4, 4},  {"BesselJ1", -4, 4},
      {"BesselK0", 0.3, 4},    {"BesselK0e", 0.3, 4}, {"BesselK1", 0.3, 4}, {"BesselK1e", 0.3, 4},
      {"BesselY0", 0.3, 4},    {"BesselY1", 0.3, 4},  {"Dawsn", -4, 4},     {"Expint", 0.3, 4},
      {"FresnelCos", -5, 5},   {"FresnelSin", -5, 5}, {"Spence", 0.1, 4},
  };
  for (const auto& row : kRows) {
    check({.op = row.op, .inputs = {random_tensor(DType::kFloat32, {3, 5}, 1, row.low, row.high)}});
    check({.op = row.op, .inputs = {random_tensor(DType::kFloat64, {40}, 2, row.low, row.high)}});
    check({.op = row.op, .inputs = {Tensor::zeros(DType::kFloat32, {0, 2})}});
    check({.op = row.op,  // far out
           .inputs = {Tensor::vector<double>({-30, -1.5, -1, -0.0, 0,   1e-310, 1e-290, 1e-110, 1e-3, 0.5,
                                              1,   1.5,  2,  3.7,  3.9, 30,     99,     101,    600,  NAN})},
           .other_dtypes = false,
           .check_gradient = false});
  }
}

TEST(SpecialOps, Gamma) {
  const Tensor a = Tensor::vector<double>({0.1, 0.5, 1, 2.5, 10, 100, 1000});
  const Tensor x = Tensor::of<double>({6, 1}, {0.05, 0.7, 2, 9, 80, 1100});
  for (const char* op : {"Igamma", "Igammac"}) {
    check({.op = op, .inputs = {a, x}, .check_gradient = false});
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {2, 1, 3}, 1, 0.3, 4),
                      random_tensor(DType::kFloat32, {3, 1}, 2, 0.3, 4)}});
    check({.op = op,
           .inputs = {Tensor::vector<double>({1, -1, 1, 1, INFINITY, 1, NAN, -0.5}),
                      Tensor::vector<double>({0, 1, -1, INFINITY, 1, NAN, 1, 0.5})},
           .other_dtypes = false,
           .check_gradient = false});
    check({.op = op,
           .inputs = {Tensor::vector<float>({1, 2}), Tensor::vector<float>({1, 2, 3})},
           .error = Code::kInvalidArgument});
  }
  check({.op = "IgammaGradA", .inputs = {a, x}});
  const Tensor alphas = Tensor::vector<double>({0.1, 0.5, 1, 2.5, 10, 100});
  const Tensor samples = Tensor::of<double>({4, 1}, {0.05, 0.7, 2, 9});
  check({.op = "RandomGammaGrad", .inputs = {alphas, samples}, .other_dtypes = false});
  check({.op = "RandomGammaGrad",
         .inputs = {random_tensor(DType::kFloat32, {2, 1, 3}, 1, 0.5, 4),
                    random_tensor(DType::kFloat32, {3, 1}, 2, 0.5, 4)},
         .tolerance = 1e-4});
}

TEST(SpecialOps, Beta) {
  const Tensor a = random_tensor(DType::kFloat32, {4, 3}, 1, 0.3, 5);
  const Tensor b = random_tensor(DType::kFloat32, {4, 3}, 2, 0.3, 5);
  const Tensor x = random_tensor(DType::kFloat32, {4, 3}, 3, 0.05, 0.95);
  check({.op = "Betainc", .inputs = {a, b, x}, .constant_inputs = {0, 1}});
  check({.op = "Betainc", .inputs = {Tensor::scalar(2.0f), b, Tensor::scalar(0.3f)}, .constant_inputs = {0, 1}});
  check({.op = "Betainc",
         .inputs = {Tensor::vector<double>({0, 1, 1, -1, 1, 1, 1, 1e5, 2}),
                    Tensor::vector<double>({1, 0, 1, 1, 1, 1, 1, 1e5, 3}),
                    Tensor::vector<double>({.5, .5, 0, .5, 1, -.1, 1.1, .5001, 0.7})},
         .other_dtypes = false,
         .check_gradient = false});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto floats = [](std::initializer_list<float> v) { return Tensor::vector<float>(v); };
  check({.op = "Betainc",  // of 0 and 1, whatever a and b are
         .inputs = {floats({nan, 1, inf, -1}), floats({1, nan, 2, 1}), floats({0, 1, 0, 0})},
         .expect = {floats({0, 1, 0, nan})},
         .other_dtypes = false,
         .check_gradient = false});
  for (const char* op : {"Igamma", "IgammaGradA", "RandomGammaGrad"}) {
    check({.op = op,
           .inputs = {floats({nan, nan}), floats({0, 1})},
           .expect = {floats({0, nan})},
           .other_dtypes = false,
           .check_gradient = false});
  }
  check({.op = "Betainc", .inputs = {a, Tensor::vector<float>({1, 2, 3}), x}, .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
