#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }
Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }

const char* const kContinuous[] = {"Add",      "AddV2",    "Sub",     "Mul",     "Div",     "RealDiv",
                                   "DivNoNan", "MulNoNan", "Maximum", "Minimum", "Pow",     "SquaredDifference",
                                   "Atan2",    "Xdivy",    "Xlogy",   "Xlog1py", "FloorMod"};

TEST(BinaryOps, EveryWayOfBroadcasting) {
  const std::pair<Shape, Shape> shapes[] = {
      {{19}, {19}},
      {{}, {19}},
      {{19}, {}},
      {{}, {}},
      {{1}, {1, 1}},
      {{2, 33}, {33}},
      {{33}, {2, 33}},
      {{5, 3}, {3}},
      {{5, 1}, {1, 3}},
      {{6, 3}, {6, 1}},
      {{2, 1, 3, 1}, {5, 1, 4}},
      {{0, 3}, {3}},
      {{0}, {1}},
      {{3, 0}, {3, 1}},
      {{2, 1, 33}, {1, 2, 33}},
  };
  for (const char* op : kContinuous) {
    for (const auto& [x, y] : shapes) {
      // Apart, so that neither the larger nor the remainder changes sides within a finite difference.
      check({.op = op,
             .inputs = {random_tensor(DType::kFloat32, x, 1, 0.6, 1.4), random_tensor(DType::kFloat32, y, 2, 1.6, 2.4)},
             .other_dtypes = x.rank() == 2});
    }
  }
}

TEST(BinaryOps, ManyElementsInManyShapes) {
  // Above a thread's share, so that every core begins in the middle of something.
  const Tensor x = random_tensor(DType::kFloat32, {300, 1, 401}, 1);
  const Tensor y = random_tensor(DType::kFloat32, {2, 401}, 2);
  check({.op = "AddV2", .inputs = {x, y}, .other_dtypes = false, .check_gradient = false});
  const Tensor narrow = random_tensor(DType::kFloat32, {30000, 3, 5}, 3);
  check({.op = "Mul",
         .inputs = {narrow, random_tensor(DType::kFloat32, {3, 1}, 4)},
         .other_dtypes = false,
         .check_gradient = false});
  check({.op = "Sub", .inputs = {random_tensor(DType::kFloat32, {5}, 4), narrow}, .check_gradient = false});
}

TEST(BinaryOps, Refusals) {
  check({.op = "AddV2",
         .inputs = {floats({1, 2}), floats({1, 2, 3})},
         .error = Code::kInvalidArgument,
         .error_contains = "do not broadcast"});
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "TruncateMod", "Mod"}) {
    check({.op = op, .inputs = {ints({1, 2}), ints({1, 0})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {ints({7}), ints({0})}, .error = Code::kInvalidArgument});
  }
  check({.op = "Pow", .inputs = {ints({2, 2}), ints({2, -1})}, .error = Code::kInvalidArgument});
}

TEST(BinaryOps, IntegerDivision) {
  const Tensor x = ints({7, -7, 7, -7, 6, INT32_MIN, INT32_MIN});
  const Tensor y = ints({3, 3, -3, -3, 3, -1, 2});
  const auto is = [&](const char* op, std::initializer_list<std::int32_t> z) {
    check({.op = op, .inputs = {x, y}, .expect = {ints(z)}, .other_dtypes = false});
  };
  is("Div", {2, -2, -2, 2, 2, INT32_MIN, INT32_MIN / 2});
  is("TruncateDiv", {2, -2, -2, 2, 2, INT32_MIN, INT32_MIN / 2});
  is("FloorDiv", {2, -3, -3, 2, 2, INT32_MIN, INT32_MIN / 2});
  is("FloorMod", {1, 2, -2, -1, 0, 0, 0});
  is("TruncateMod", {1, -1, 1, -1, 0, 0, 0});
  is("Mod", {1, -1, 1, -1, 0, 0, 0});
  const Tensor u = Tensor::vector<std::uint8_t>({250, 7});
  const Tensor v = Tensor::vector<std::uint8_t>({3, 200});
  check({.op = "FloorDiv", .inputs = {u, v}, .expect = {Tensor::vector<std::uint8_t>({83, 0})}, .other_dtypes = false});
  check({.op = "FloorMod", .inputs = {u, v}, .expect = {Tensor::vector<std::uint8_t>({1, 7})}, .other_dtypes = false});
  check({.op = "AddV2", .inputs = {u, v}, .expect = {Tensor::vector<std::uint8_t>({253, 207})}, .other_dtypes = false});
}

TEST(BinaryOps, IntegersWrapRound) {
  check(
      {.op = "AddV2", .inputs = {ints({INT32_MAX}), ints({1})}, .expect = {ints({INT32_MIN})}, .other_dtypes = false});
  check({.op = "Sub", .inputs = {ints({INT32_MIN}), ints({1})}, .expect = {ints({INT32_MAX})}, .other_dtypes = false});
  check({.op = "Mul", .inputs = {ints({65536}), ints({65537})}, .expect = {ints({65536})}, .other_dtypes = false});
  check({.op = "Mul",
         .inputs = {Tensor::vector<std::uint16_t>({65535}), Tensor::vector<std::uint16_t>({65535})},
         .expect = {Tensor::vector<std::uint16_t>({1})},
         .other_dtypes = false});
  check({.op = "Pow",
         .inputs = {ints({3, -2, 0, 2}), ints({4, 3, 0, 31})},
         .expect = {ints({81, -8, 1, INT32_MIN})},
         .other_dtypes = false});
}

TEST(BinaryOps, EdgesOfTheNumberLine) {
  // All pairs of these.
  const std::vector<float> edges = {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, -2.5f, 1e-30f, 3e38f, -3e38f, kInf, -kInf, kNan};
  const Tensor x = Tensor::of<float>({12, 1}, std::span<const float>(edges));
  const Tensor y = Tensor::vector(edges);
  for (const char* op :
       {"AddV2",     "Sub",     "Mul",          "RealDiv",           "DivNoNan", "MulNoNan", "FloorDiv",
        "FloorMod",  "Mod",     "TruncateMod",  "Maximum",           "Minimum",  "Pow",      "Atan2",
        "Xdivy",     "Xlogy",   "Xlog1py",      "SquaredDifference", "Equal",    "NotEqual", "Less",
        "LessEqual", "Greater", "GreaterEqual", "NextAfter"}) {
    check({.op = op,
           .inputs = {x, y},
           .tolerance = 1e-6,
           .other_dtypes = false,
           .check_gradient = false,
           .unlike_tensorflow = op == std::string_view("FloorDiv") ? "it takes quotients below 1e-38 for 0" : ""});
  }
}

TEST(BinaryOps, Definitions) {
  check({.op = "Maximum",
         .inputs = {floats({1, kNan, 3, kNan}), floats({2, 2, kNan, kNan})},
         .expect = {floats({2, kNan, kNan, kNan})},
         .check_gradient = false});
  check({.op = "Minimum",
         .inputs = {floats({1, kNan, 3, kNan}), floats({2, 2, kNan, kNan})},
         .expect = {floats({1, kNan, kNan, kNan})},
         .check_gradient = false});
  check({.op = "TruncateDiv",
         .inputs = {floats({7, -7, 7, -0.5f, kInf, 1}), floats({2, 2, -2, 1, 2, 0})},
         .expect = {floats({3, -3, -3, -0.f, kInf, kInf})},
         .tolerance = 0});
  check({.op = "FloorDiv",
         .inputs = {floats({7, -7}), floats({2, 2})},
         .expect = {floats({3, -4})},
         .check_gradient = false});
  check({.op = "FloorMod",
         .inputs = {floats({7, -7, 7}), floats({3, 3, -3})},
         .expect = {floats({1, 2, -2})},
         .check_gradient = false});
  check({.op = "TruncateMod",
         .inputs = {floats({7, -7}), floats({3, 3})},
         .expect = {floats({1, -1})},
         .check_gradient = false});
  check({.op = "DivNoNan",
         .inputs = {floats({1, 0, 6}), floats({0, 0, 3})},
         .expect = {floats({0, 0, 2})},
         .check_gradient = false});
  check({.op = "MulNoNan",
         .inputs = {floats({kInf, kNan, 6}), floats({0, 0, 3})},
         .expect = {floats({0, 0, 18})},
         .check_gradient = false});
  check(
      {.op = "Xlogy", .inputs = {floats({0, 2}), floats({0, 1})}, .expect = {floats({0, 0})}, .check_gradient = false});
  check({.op = "LeftShift",
         .inputs = {ints({1, -1, 3, 1}), ints({4, 1, 40, -1})},
         .expect = {ints({16, -2, INT32_MIN, 1})},
         .other_dtypes = false});
  check({.op = "RightShift",
         .inputs = {ints({16, -8, -1}), ints({2, 1, 40})},
         .expect = {ints({4, -4, -1})},
         .other_dtypes = false});
  check({.op = "BitwiseAnd", .inputs = {ints({6, -1}), ints({3, 5})}, .expect = {ints({2, 5})}});
  check({.op = "BitwiseOr", .inputs = {ints({6, 0}), ints({3, 5})}, .expect = {ints({7, 5})}});
  check({.op = "BitwiseXor", .inputs = {ints({6, -1}), ints({3, 5})}, .expect = {ints({5, -6})}});
  const Tensor yes_no = Tensor::vector<bool>({true, true, false, false});
  const Tensor both = Tensor::vector<bool>({true, false, true, false});
  check({.op = "LogicalAnd", .inputs = {yes_no, both}, .expect = {Tensor::vector<bool>({true, false, false, false})}});
  check({.op = "LogicalOr", .inputs = {yes_no, both}, .expect = {Tensor::vector<bool>({true, true, true, false})}});
}

TEST(BinaryOps, NextAfterHasTheSlopeOfItsFirst) {
  check({.op = "NextAfter",
         .inputs = {random_tensor(DType::kFloat32, {2, 3}, 1), random_tensor(DType::kFloat32, {3}, 2)}});
}

TEST(BinaryOps, ZetaAndPolygamma) {
  const float sixth = 1.6449340668482264f;  // pi^2 / 6
  check({.op = "Zeta",
         .inputs = {floats({2, 4, 1, 0.5, 3}), floats({1, 1, 1, 1, 2.5})},
         .expect = {floats({sixth, 1.0823232337111382f, kInf, kNan, 0.118102025820864f})},
         .check_gradient = false});
  check({.op = "Polygamma",
         .inputs = {floats({1, 0, 2}), floats({1, 1, 1})},
         .expect = {floats({sixth, -0.5772156649015329f, -2.4041138063191885f})},
         .constant_inputs = {0}});
  check({.op = "Zeta",
         .inputs = {floats({2, 3.5, 5}), random_tensor(DType::kFloat32, {4, 3}, 1, 0.3, 12)},
         .constant_inputs = {0}});
  check({.op = "Polygamma",
         .inputs = {floats({1, 2, 3}), random_tensor(DType::kFloat32, {4, 3}, 1, 0.5, 12)},
         .constant_inputs = {0}});
  check({.op = "Zeta", .inputs = {floats({2, 3, 2, 2.5}), floats({-1, -1, -0.5, -0.5})}, .check_gradient = false});
  check({.op = "Zeta",
         .inputs = {floats({2, 3, 3}), floats({-4.5, -4.5, -1e6 + 0.5})},
         .expect = {floats({9.6702620f, 0.0198044738f, 0})},
         .other_dtypes = false,
         .check_gradient = false});
}

TEST(BinaryOps, TextAndTruth) {
  const Tensor words = Tensor::vector<std::string>({"a", "bc", ""});
  check(
      {.op = "Equal", .inputs = {words, Tensor::scalar("bc")}, .expect = {Tensor::vector<bool>({false, true, false})}});
  check({.op = "NotEqual",
         .inputs = {words, Tensor::scalar("bc")},
         .expect = {Tensor::vector<bool>({true, false, true})}});
  check({.op = "Add",
         .inputs = {words, Tensor::scalar("!")},
         .expect = {Tensor::vector<std::string>({"a!", "bc!", "!"})}});
  check({.op = "Add",
         .inputs = {Tensor::of<std::string>({2, 1}, {"a", "b"}), Tensor::of<std::string>({1, 2}, {"x", "y"})},
         .expect = {Tensor::of<std::string>({2, 2}, {"ax", "ay", "bx", "by"})}});
  check({.op = "Equal",
         .inputs = {ints({1, 2}), ints({1, 2, 3})},
         .attrs = {{"incompatible_shape_error", false}},
         .expect = {Tensor::scalar(false)}});
  check({.op = "NotEqual",
         .inputs = {ints({1, 2}), ints({1, 2, 3})},
         .attrs = {{"incompatible_shape_error", false}},
         .expect = {Tensor::scalar(true)}});
  check({.op = "Equal", .inputs = {ints({1, 2}), ints({1, 2, 3})}, .error = Code::kInvalidArgument});
  using C = std::complex<float>;
  const Tensor z = Tensor::vector<C>({{1, 2}, {3, -4}});
  const Tensor w = Tensor::vector<C>({{1, 2}, {0.5f, 1}});
  for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "MulNoNan", "Pow", "SquaredDifference", "Equal",
                         "NotEqual", "Xdivy", "Xlogy"}) {
    check({.op = op, .inputs = {z, w}});
  }
  check({.op = "Mul", .inputs = {z.reshaped({2, 1}), w.reshaped({1, 2})}});
}

// What overflows or vanishes on the way to a quotient that does neither, infinities, and no numbers.
template <typename T>
void check_complex_far_from_one(T large) {
  using C = std::complex<T>;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(), small = 1 / large;
  const Tensor z = Tensor::vector<C>(
      {{large, large}, {small, 2 * small}, {inf, 1}, {1, 2}, {inf, inf}, {1, 1}, {0, 0}, {nan, 1}, {inf, nan}});
  const Tensor w = Tensor::vector<C>(
      {{large, -large}, {3 * small, small}, {2, 0}, {inf, 0}, {inf, -inf}, {0, 0}, {0, 0}, {1, 1}, {2, 3}});
  for (const char* op : {"Mul", "RealDiv", "DivNoNan", "MulNoNan", "Equal", "NotEqual"}) {
    const std::string unlike = std::string_view(op).find("Div") != std::string_view::npos
                                   ? "TensorFlow squares the divisor, which overflows, vanishes or is infinite"
                                   : "";
    check({.op = op, .inputs = {z, w}, .unlike_tensorflow = unlike});
    check({.op = op, .inputs = {w, z}, .unlike_tensorflow = unlike});
  }
}
TEST(BinaryOps, ComplexFarFromOne) {
  check_complex_far_from_one(1e30F);
  check_complex_far_from_one(1e200);
}

}  // namespace
}  // namespace argosy
