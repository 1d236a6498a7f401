#include "argosy/ops/reduction/reduction.h"

#include <gtest/gtest.h>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor floats(Shape shape, std::initializer_list<float> v) { return Tensor::of<float>(std::move(shape), v); }

const char* const kReductions[] = {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"};

TEST(ReductionOps, EveryPatternOfAxes) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 3, 4, 2}, 1, 0.5, 2);
  for (const char* op : kReductions) {
    for (const Tensor& axes :
         {ints({}), ints({0}), ints({3}), ints({1}), ints({0, 1, 2, 3}), ints({0, 2}), ints({1, 3}), ints({-1, 1}),
          ints({2, 1}), ints({0, 3}), Tensor::scalar(-2), Tensor::vector<std::int64_t>({1, 2})}) {
      for (const bool keep : {false, true}) {
        check({.op = op,
               .inputs = {x, axes},
               .attrs = {{"keep_dims", keep}},
               .other_dtypes = keep,
               .check_gradient = true});
      }
    }
    check({.op = op, .inputs = {Tensor::scalar(3.0f), ints({})}});
    check({.op = op, .inputs = {floats({1, 1}, {3}), ints({0})}});
  }
}

TEST(ReductionOps, Definitions) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto is = [&](const char* op, const Tensor& axes, Tensor y) {
    check({.op = op, .inputs = {x, axes}, .expect = {std::move(y)}});
  };
  is("Sum", ints({0}), floats({3}, {5, 7, 9}));
  is("Sum", ints({1}), floats({2}, {6, 15}));
  is("Sum", ints({0, 1}), Tensor::scalar(21.0f));
  is("Mean", ints({1}), floats({2}, {2, 5}));
  is("Prod", ints({1}), floats({2}, {6, 120}));
  is("Max", ints({0}), floats({3}, {4, 5, 6}));
  is("Min", ints({-1}), floats({2}, {1, 4}));
  check(
      {.op = "EuclideanNorm", .inputs = {floats({2, 2}, {3, 4, 5, 12}), ints({1})}, .expect = {floats({2}, {5, 13})}});
  check({.op = "Mean",
         .inputs = {Tensor::vector<std::uint8_t>({255, 3, 3}), ints({0})},
         .expect = {Tensor::scalar(std::uint8_t{87})},
         .other_dtypes = false});
  check({.op = "Mean",
         .inputs = {ints({INT32_MAX, INT32_MAX}), ints({0})},
         .expect = {Tensor::scalar(INT32_MAX)},
         .other_dtypes = false});
  check(
      {.op = "Mean", .inputs = {ints({7, -8, -6}), ints({0})}, .expect = {Tensor::scalar(-2)}, .other_dtypes = false});
  check({.op = "Sum",
         .inputs = {ints({INT32_MAX, 1}), ints({0})},
         .expect = {Tensor::scalar(INT32_MIN)},
         .other_dtypes = false});
  check({.op = "EuclideanNorm",
         .inputs = {ints({3, 4, 2}), ints({0})},
         .expect = {Tensor::scalar(5)},
         .other_dtypes = false});
  const Tensor b = Tensor::of<bool>({2, 2}, {true, false, true, true});
  check({.op = "All", .inputs = {b, ints({1})}, .expect = {Tensor::vector<bool>({false, true})}});
  check({.op = "Any", .inputs = {b, ints({0, 1})}, .expect = {Tensor::scalar(true)}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"Max", "Min", "Sum"}) {
    check({.op = op, .inputs = {floats({2, 2}, {nan, 1, 1, 2}), ints({1})}, .check_gradient = false});
    check({.op = op, .inputs = {floats({2, 2}, {1, nan, 1, 2}), ints({0})}, .check_gradient = false});
  }
  // Gradients flow evenly to equals, and past zeros.
  check({.op = "Prod", .inputs = {floats({2, 3}, {0, 2, 3, 0, 0, 6}), ints({1})}});
  using C = std::complex<float>;
  const Tensor z = Tensor::of<C>({2, 2}, {{1, 2}, {3, -1}, {0, 1}, {2, 2}});
  for (const char* op : {"Sum", "Mean", "Prod"}) check({.op = op, .inputs = {z, ints({0})}});
  // As many as a GPU folds in two turns.
  Tensor many = Tensor::zeros(DType::kComplex64, {2, 10000});
  const Tensor parts = random_tensor(DType::kFloat32, {2 * many.elements()}, 3);
  for (std::int64_t i = 0; i < many.elements(); ++i) {
    many.data<C>()[i] = C(parts.data<float>()[2 * i], parts.data<float>()[2 * i + 1]);
  }
  for (const int axis : {0, 1}) {
    for (const char* op : {"Sum", "Mean"}) {
      check({.op = op, .inputs = {many, ints({axis})}, .tolerance = 1e-4, .check_gradient = false});
    }
  }
}

TEST(ReductionOps, Empty) {
  check({.op = "Mean",
         .inputs = {Tensor::zeros(DType::kComplex64, {0, 2}), ints({0})},
         .expect = {Tensor::zeros(DType::kComplex64, {2})},
         .check_gradient = false});
  for (const char* op : kReductions) {
    const bool counts = std::string_view(op) == "Mean";
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {0, 3}), ints({0})}, .check_gradient = false});
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {0, 3}), ints({1})}, .check_gradient = false});
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {2, 0}), ints({0, 1})}, .check_gradient = false});
    if (!counts) check({.op = op, .inputs = {Tensor::zeros(DType::kInt64, {0}), ints({0})}, .other_dtypes = false});
  }
  check({.op = "Sum",
         .inputs = {Tensor::zeros(DType::kFloat32, {0}), ints({0})},
         .expect = {Tensor::scalar(0.0f)},
         .check_gradient = false});
  check({.op = "Prod",
         .inputs = {Tensor::zeros(DType::kFloat32, {0}), ints({0})},
         .expect = {Tensor::scalar(1.0f)},
         .check_gradient = false});
  check({.op = "All", .inputs = {Tensor::zeros(DType::kBool, {0}), ints({0})}, .expect = {Tensor::scalar(true)}});
  check({.op = "Any", .inputs = {Tensor::zeros(DType::kBool, {0}), ints({0})}, .expect = {Tensor::scalar(false)}});
}

TEST(ReductionOps, Refusals) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 3});
  for (const char* op : kReductions) {
    check({.op = op, .inputs = {x, ints({2})}, .error = Code::kInvalidArgument, .error_contains = "axis"});
    check({.op = op, .inputs = {x, ints({-3})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({1, -1})}, .error = Code::kInvalidArgument, .error_contains = "twice"});
  }
}

TEST(ReductionOps, LargeAndOdd) {
  // Rows and columns beyond every block, with ragged ends; narrow columns; several stages.
  const std::pair<Shape, Tensor> cases[] = {
      {{100003}, ints({0})},    {{3, 20011}, ints({1})},         {{20011, 3}, ints({0})},
      {{5003, 10}, ints({0})},  {{3, 700, 5}, ints({1})},        {{1000, 130}, ints({0})},
      {{7, 33, 65}, ints({1})}, {{4, 100, 9, 50}, ints({0, 2})}, {{40, 30, 5, 7}, ints({1, 3})},
      {{300, 257}, ints({1})},  {{3, 300, 2}, ints({1})},        {{2000, 2}, ints({1})},
      {{129, 129}, ints({0})},
  };
  for (const auto& [shape, axes] : cases) {
    for (const char* op : {"Sum", "Mean", "Max", "EuclideanNorm"}) {
      const Tensor x = random_tensor(DType::kFloat32, shape, 5, 0, 1);
      check({.op = op, .inputs = {x, axes}, .other_dtypes = false, .check_gradient = false});
      if (x.elements() > 21000) continue;
      for (const DType half : {DType::kBfloat16, DType::kFloat16}) {
        check({.op = op,
               .inputs = {cast_to(x, half), axes},
               .other_dtypes = false,
               .check_gradient = false,
               .unlike_tensorflow = "it adds 16-bit floats up in 16 bits"});
      }
    }
    check({.op = "Sum", .inputs = {random_tensor(DType::kInt32, shape, 5, -100, 100), axes}, .other_dtypes = false});
  }
}

TEST(ReductionOps, SumsStayExactAndTheSameOnAnyNumberOfThreads) {
  Tensor x = Tensor::zeros(DType::kFloat32, {1 << 22});
  for (float& v : x.values<float>()) v = 0.1f;
  const OpDef& sum = *builtin_ops().find("Sum");
  std::vector<float> sums;
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_budget(threads);
    const auto y = evaluate_op(sum, {}, {x, ints({0})});
    const auto columns = evaluate_op(sum, {}, {x.reshaped({1 << 12, 1 << 10}), ints({0})});
    ASSERT_TRUE(y.ok() && columns.ok());
    sums.push_back(*(*y)[0].data<float>());
    EXPECT_NEAR(columns->at(0).data<float>()[77], 409.6f, 2e-4f);
  }
  set_thread_budget(available_cores());
  EXPECT_NEAR(sums[0], 419430.4f + 0.00625f, 0.5f);  // 0.1f is 1.5e-9 above 0.1
  for (const float s : sums) EXPECT_EQ(s, sums[0]);
}

TEST(ReductionOps, ArgMax) {
  const Tensor x = floats({2, 3}, {1, 5, 5, 7, 0, -1});
  const auto at = [](std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); };
  check({.op = "ArgMax", .inputs = {x, Tensor::scalar(1)}, .expect = {at({1, 0})}});
  check({.op = "ArgMin", .inputs = {x, Tensor::scalar(-1)}, .expect = {at({0, 2})}});
  check({.op = "ArgMax",
         .inputs = {x, Tensor::scalar(0)},
         .attrs = {{"output_type", DType::kInt32}},
         .expect = {ints({1, 0, 0})}});
  check({.op = "ArgMin",
         .inputs = {random_tensor(DType::kFloat32, {3, 70, 4}), Tensor::scalar(1)},
         .other_dtypes = false});
  check({.op = "ArgMax", .inputs = {Tensor::zeros(DType::kFloat32, {0, 3}), Tensor::scalar(1)}});
  check({.op = "ArgMax",
         .inputs = {Tensor::zeros(DType::kFloat32, {0, 3}), Tensor::scalar(0)},
         .error = Code::kInvalidArgument});
  check({.op = "ArgMax", .inputs = {x, Tensor::scalar(2)}, .error = Code::kInvalidArgument});
  check({.op = "ArgMax", .inputs = {Tensor::scalar(1.0f), Tensor::scalar(0)}, .error = Code::kInvalidArgument});
  check({.op = "ArgMax", .inputs = {x, ints({0, 1})}, .error = Code::kInvalidArgument});
  check({.op = "ArgMax",
         .inputs = {Tensor::vector<bool>({false, true}), Tensor::scalar(0)},
         .expect = {Tensor::scalar(std::int64_t{1})}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check({.op = "ArgMax", .inputs = {floats({2, 2}, {1, nan, nan, 1}), Tensor::scalar(1)}});
}

TEST(ReductionOps, L2Loss) {
  check({.op = "L2Loss", .inputs = {floats({3}, {1, 2, 3})}, .expect = {Tensor::scalar(7.0f)}});
  check({.op = "L2Loss",
         .inputs = {Tensor::zeros(DType::kFloat32, {0})},
         .expect = {Tensor::scalar(0.0f)},
         .check_gradient = false});
  check({.op = "L2Loss", .inputs = {random_tensor(DType::kFloat32, {20, 11})}});
}

TEST(ReductionOps, AxesComeInAnyShape) {
  check({.op = "Sum",
         .inputs = {Tensor::of<float>({2, 1, 2}, {1, 2, 3, 4}), Tensor::of<std::int32_t>({1, 2}, {0, 2})},
         .expect = {Tensor::vector<float>({10})}});
}

}  // namespace
}  // namespace argosy
