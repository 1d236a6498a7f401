#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Domain {
  const char* op;
  double low, high;  // where values and finite differences make sense
  double tolerance = 1e-5;
};

// Enough elements for whole vectors and a ragged end on every instruction set.
TEST(UnaryOps, AgreeWithTheReferenceInTheirDomain) {
  for (const Domain& d :
       {Domain{"Neg", -3, 3}, {"Abs", 0.1, 3},        {"Sign", 0.1, 3},   {"Square", -3, 3},    {"Sqrt", 0.5, 4},
        {"Rsqrt", 0.5, 4},    {"Reciprocal", 0.5, 4}, {"Inv", 0.5, 4},    {"Exp", -4, 3},       {"Expm1", -2, 2},
        {"Log", 0.5, 5},      {"Log1p", -0.5, 3},     {"Sin", -7, 7},     {"Cos", -7, 7},       {"Tan", -1, 1},
        {"Asin", -0.9, 0.9},  {"Acos", -0.9, 0.9},    {"Atan", -4, 4},    {"Sinh", -2, 2},      {"Cosh", -2, 2},
        {"Tanh", -3, 3},      {"Asinh", -3, 3},       {"Acosh", 1.3, 4},  {"Atanh", -0.8, 0.8}, {"Sigmoid", -5, 5},
        {"Erf", -2, 2},       {"Erfc", -2, 2},        {"Lgamma", 0.5, 5}, {"Digamma", 0.5, 5},  {"Softsign", 0.1, 3},
        {"Floor", 0.1, 0.9},  {"Ceil", 0.1, 0.9},     {"Rint", 0.1, 0.4}, {"Round", 0.1, 0.4}}) {
    const Tensor x = random_tensor(DType::kFloat32, {37}, 3, d.low, d.high);
    check({.op = d.op, .inputs = {x}, .tolerance = d.tolerance});
    check({.op = d.op, .inputs = {Tensor::zeros(DType::kFloat32, {0, 3})}});
    check({.op = d.op, .inputs = {Tensor::scalar(static_cast<float>(d.high))}});
  }
}

TEST(UnaryOps, EdgesOfTheNumberLine) {
  // Every op meets every edge; what is right, the reference (std) says, and TensorFlow where the oracle runs.
  const Tensor edges = Tensor::vector<float>(
      {0.0f,  -0.0f,  kInf,  -kInf,  kNan,   1e-30f,  -1e-30f, 1.0f,  -1.0f, 2.5f,  -2.5f,  0.5f,     1.5f,    -1.5f,
       87.0f, -87.0f, 89.0f, -89.0f, 105.0f, -105.0f, 1e5f,    -1e5f, 1e18f, 3e38f, -3e38f, 0.99995f, 1.00005f});
  for (const char* op :
       {"Neg", "Abs",  "Sign",    "Square", "Sqrt", "Rsqrt", "Reciprocal", "Exp",   "Expm1", "Log",      "Log1p",
        "Sin", "Cos",  "Asin",    "Acos",   "Atan", "Sinh",  "Cosh",       "Tanh",  "Asinh", "Acosh",    "Atanh",
        "Erf", "Erfc", "Sigmoid", "Floor",  "Ceil", "Rint",  "Round",      "IsNan", "IsInf", "IsFinite", "Softsign"}) {
    check({.op = op,
           .inputs = {edges},
           .tolerance = 1e-6,
           .check_gradient = false,
           .unlike_tensorflow = op == std::string_view("Erf") ? "its erf of infinity in float64 is NaN" : ""});
  }
}

TEST(UnaryOps, Definitions) {
  const auto floats = [](std::initializer_list<float> v) { return Tensor::vector<float>(v); };
  check({.op = "Sign",
         .inputs = {floats({-2, 0, 3, kNan})},
         .expect = {floats({-1, 0, 1, kNan})},
         .check_gradient = false});
  Graph g;
  const auto sign = evaluate(g, {}, {g.add("Sign", {constant(g, floats({-0.0f}))}).endpoint()});
  ASSERT_TRUE(sign.ok()) << sign.status().to_string();
  EXPECT_FALSE(std::signbit(*sign->at(0).data<float>()));
  check({.op = "Round",
         .inputs = {floats({0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997f})},
         .expect = {floats({0, 2, 2, -0.0f, -2, 0})},
         .check_gradient = false});
  check({.op = "Rsqrt", .inputs = {floats({4, 0.25, 0})}, .expect = {floats({0.5, 2, kInf})}, .check_gradient = false});
  check(
      {.op = "IsFinite", .inputs = {floats({1, kInf, kNan})}, .expect = {Tensor::vector<bool>({true, false, false})}});
  check({.op = "LogicalNot",
         .inputs = {Tensor::vector<bool>({true, false})},
         .expect = {Tensor::vector<bool>({false, true})}});
  check({.op = "Neg",
         .inputs = {Tensor::vector<std::int32_t>({5, -7})},
         .expect = {Tensor::vector<std::int32_t>({-5, 7})}});
  check({.op = "Abs",
         .inputs = {Tensor::vector<std::int32_t>({INT32_MIN, -3})},
         .expect = {Tensor::vector<std::int32_t>({INT32_MIN, 3})},
         .other_dtypes = false});
  check({.op = "Square",
         .inputs = {Tensor::vector<std::int32_t>({65536, -3})},
         .expect = {Tensor::vector<std::int32_t>({0, 9})},
         .other_dtypes = false});
  check({.op = "Invert",
         .inputs = {Tensor::vector<std::uint8_t>({0, 5, 255})},
         .expect = {Tensor::vector<std::uint8_t>({255, 250, 0})},
         .other_dtypes = false});
  check({.op = "Invert",
         .inputs = {Tensor::vector<std::int32_t>({0, -1, 5})},
         .expect = {Tensor::vector<std::int32_t>({-1, 0, -6})}});
  check({.op = "PopulationCount",
         .inputs = {Tensor::vector<std::int32_t>({0, -1, 5})},
         .expect = {Tensor::vector<std::uint8_t>({0, 32, 2})},
         .other_dtypes = false});
  const float euler = 0.5772156649015329f;
  check({.op = "Digamma",
         .inputs = {floats({1, 0.5, -0.5, kInf})},
         .expect = {floats({-euler, -1.9635100260214235f, 0.03648997397857652f, kInf})},
         .check_gradient = false});
  check({.op = "Digamma",
         .inputs = {floats({-1e-20f, -0.001f, -1.0001f})},
         .expect = {floats({1e20f, 999.42109f, 9998.7634f})},
         .other_dtypes = false,
         .check_gradient = false});
  check({.op = "Lgamma",
         .inputs = {floats({1, 5, -0.5, 0, -2})},
         .expect = {floats({0, 3.1780538303479458f, 1.2655121234846454f, kInf, kInf})},
         .check_gradient = false});
}

TEST(UnaryOps, GradientOps) {
  const Tensor y = random_tensor(DType::kFloat32, {21}, 1, 0.2, 0.9);
  const Tensor dy = random_tensor(DType::kFloat32, {21}, 2);
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    check({.op = op, .inputs = {y, dy}});
  }
  check({.op = "SoftsignGrad", .inputs = {dy, y}});
  check({.op = "TanhGrad", .inputs = {Tensor::scalar(0.5f), Tensor::scalar(2.0f)}, .expect = {Tensor::scalar(1.5f)}});
}

// TensorFlow's answers: where nothing flows back, no y makes NaN of it.
TEST(UnaryOps, GradientsOfNothingAreNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto floats = [](std::vector<float> v) { return Tensor::vector<float>(v); };
  const Tensor y = floats({0, kInf, nan, -kInf, 2}), none = floats({0, 0, -0.0f, 0, 0}),
               zeros = floats({0, 0, 0, 0, 0});
  for (const char* op : {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    check({.op = op, .inputs = {y, none}, .expect = {zeros}, .check_gradient = false});
  }
  check({.op = "SqrtGrad",
         .inputs = {floats({0, 0, kInf, 2}), floats({1, -1, 1, 1})},
         .expect = {floats({kInf, -kInf, 0, 0.25f})},
         .check_gradient = false});
}

TEST(UnaryOps, Complex) {
  using C = std::complex<float>;
  const Tensor x = Tensor::vector<C>({{0.5f, 0.25f}, {-0.3f, 0.8f}, {0.1f, -0.6f}});
  for (const char* op :
       {"Neg", "Sign", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Exp",  "Expm1", "Log",   "Log1p", "Sin",    "Cos",
        "Tan", "Asin", "Acos",   "Atan", "Sinh",  "Cosh",       "Tanh", "Asinh", "Acosh", "Atanh", "Sigmoid"}) {
    check({.op = op, .inputs = {x}});
  }
  check({.op = "Square", .inputs = {Tensor::scalar(C(1, 2))}, .expect = {Tensor::scalar(C(-3, 4))}});
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"}) {
    check({.op = op, .inputs = {x, x}});
  }
}

}  // namespace
}  // namespace argosy
