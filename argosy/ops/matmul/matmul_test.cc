#include "argosy/ops/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor random(Shape shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }

TEST(MatMul, Value) {
  const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::of<float>({3, 2}, {1, 0, 0, 1, 1, 1});
  check({.op = "MatMul", .inputs = {a, b}, .expect = {Tensor::of<float>({2, 2}, {4, 5, 10, 11})}});
  check({.op = "MatMul",
         .inputs = {a, a},
         .attrs = {{"transpose_b", true}},
         .expect = {Tensor::of<float>({2, 2}, {14, 32, 32, 77})}});
  const Tensor i = Tensor::of<std::int32_t>({1, 2}, {2, 3});
  check({.op = "MatMul",
         .inputs = {i, i},
         .attrs = {{"transpose_a", true}},
         .expect = {Tensor::of<std::int32_t>({2, 2}, {4, 6, 6, 9})}});
}

// Every way gemm() may take: dot products (few rows, transposed b), the primitive, long sums; tails of every kind.
TEST(MatMul, ShapesAndTransposes) {
  struct Sizes {
    std::int64_t m, k, n;
  };
  for (const Sizes s :
       {Sizes{1, 1, 1}, {3, 5, 7}, {10, 37, 6}, {7, 64, 33}, {2, 1100, 5}, {20, 40, 17}, {20, 1100, 17}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(str_cat(s.m, "x", s.k, "x", s.n, ta ? " T" : " N", tb ? "T" : "N"));
        check({.op = "MatMul",
               .inputs = {random(ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1),
                          random(tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2)},
               .attrs = {{"transpose_a", ta}, {"transpose_b", tb}},
               .tolerance = 1e-4,
               .check_gradient = s.m * s.k * s.n < 200});
      }
    }
  }
}

// Large enough for tiles, where the machine has them: what is not finite comes out as float32 arithmetic has it.
TEST(MatMul, LargeWithInfinities) {
  const std::int64_t k = 300;
  const Tensor a = random({130, k}, 1), b = random({k, 256}, 2);
  a.data<float>()[7 * k + 3] = std::numeric_limits<float>::infinity();
  a.data<float>()[9 * k] = std::nanf("");
  check({.op = "MatMul", .inputs = {a, b}, .tolerance = 1e-4, .other_dtypes = false, .check_gradient = false});
  a.data<float>()[7 * k + 3] = a.data<float>()[9 * k] = 0;
  check({.op = "MatMul", .inputs = {a, b}, .tolerance = 1e-4, .other_dtypes = false, .check_gradient = false});
}

TEST(MatMul, EmptyAxes) {
  check(
      {.op = "MatMul", .inputs = {random({2, 0}), random({0, 3})}, .expect = {Tensor::zeros(DType::kFloat32, {2, 3})}});
  check({.op = "MatMul", .inputs = {random({0, 4}), random({4, 3})}, .expect = {random({0, 3})}});
}

TEST(MatMul, Refusals) {
  check({.op = "MatMul",
         .inputs = {random({2, 3}), random({2, 3})},
         .error = Code::kInvalidArgument,
         .error_contains = "inner dimensions differ: [2,3] x [2,3]"});
  check({.op = "MatMul",
         .inputs = {random({2}), random({2, 3})},
         .error = Code::kInvalidArgument,
         .error_contains = "rank 2"});
  check({.op = "BatchMatMul", .inputs = {random({2, 3, 4}), random({3, 4, 3})}, .error = Code::kInvalidArgument});
  check({.op = "BatchMatMulV2", .inputs = {random({2, 3, 4}), random({3, 4, 3})}, .error = Code::kInvalidArgument});
  check({.op = "_FusedMatMul",
         .inputs = {random({2, 3}), random({3, 4})},
         .attrs = {{"num_args", 0}, {"fused_ops", std::vector<std::string>{"Relu", "BiasAdd"}}},
         .error = Code::kInvalidArgument,
         .error_contains = "fused_ops"});
}

TEST(MatMul, Complex) {
  using C = std::complex<float>;
  const Tensor a = Tensor::of<C>({1, 2}, {C(1, 2), C(3, -1)});
  check({.op = "BatchMatMulV2",
         .inputs = {a, a},
         .attrs = {{"adj_y", true}},
         .expect = {Tensor::of<C>({1, 1}, {C(15, 0)})}});
  check({.op = "MatMul",
         .inputs = {a, a},
         .attrs = {{"transpose_b", true}},
         .expect = {Tensor::of<C>({1, 1}, {C(5, -2)})}});
  const auto numbers = [](const Shape& shape, std::uint64_t seed) {
    const Tensor parts = random_tensor(DType::kFloat32, {2, shape.elements()}, seed);
    Tensor t = Tensor::zeros(DType::kComplex64, shape);
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      t.data<C>()[i] = C(parts.data<float>()[i], parts.data<float>()[t.elements() + i]);
    }
    return t;
  };
  for (const bool adj_x : {false, true}) {
    for (const bool adj_y : {false, true}) {
      const Shape x = adj_x ? Shape{3, 18, 35} : Shape{3, 35, 18}, y = adj_y ? Shape{3, 40, 18} : Shape{3, 18, 40};
      check({.op = "BatchMatMul",
             .inputs = {numbers(x, 1), numbers(y, 2)},
             .attrs = {{"adj_x", adj_x}, {"adj_y", adj_y}},
             .check_gradient = false});
    }
  }
}

TEST(BatchMatMul, Broadcasting) {
  check({.op = "BatchMatMul", .inputs = {random({2, 2, 3}), random({2, 3, 2}, 2)}});
  for (const bool adj : {false, true}) {
    const Shape y = adj ? Shape{2, 3} : Shape{3, 2};
    for (const Shape& x : {Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1, 2, 3}}) {
      for (const Shape& stack : {Shape{}, Shape{2}, Shape{1, 2}}) {
        std::vector<std::int64_t> sizes(stack.sizes().begin(), stack.sizes().end());
        sizes.insert(sizes.end(), y.sizes().begin(), y.sizes().end());
        SCOPED_TRACE(str_cat(x, " ", stack));
        check({.op = "BatchMatMulV2",
               .inputs = {random(x), random(Shape(std::span<const std::int64_t>(sizes)), 2)},
               .attrs = {{"adj_y", adj}}});
      }
    }
  }
}

TEST(BatchMatMul, MixedTypes) {
  const Tensor a = Tensor::of<std::int8_t>({1, 2}, {100, -100}), b = Tensor::of<std::uint8_t>({2, 1}, {200, 100});
  check({.op = "BatchMatMulV3",
         .inputs = {a, b},
         .attrs = {{"Tout", DType::kInt32}},
         .expect = {Tensor::of<std::int32_t>({1, 1}, {10000})},
         .other_dtypes = false});
  check({.op = "BatchMatMulV3",
         .inputs = {random_tensor(DType::kFloat32, {2, 3, 4}, 1), random_tensor(DType::kFloat32, {4, 2}, 2)},
         .attrs = {{"Tout", DType::kFloat32}}});
}

TEST(FusedMatMul, MatchesItsParts) {
  for (const char* activation : {"", "Relu", "Relu6", "Elu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    for (const std::int64_t k : {5, 1100}) {
      for (const bool tb : {false, true}) {
        std::vector<std::string> ops = {"BiasAdd"};
        if (*activation != 0) ops.emplace_back(activation);
        SCOPED_TRACE(str_cat(activation, k));
        check({.op = "_FusedMatMul",
               .inputs = {random({6, k}), random(tb ? Shape{9, k} : Shape{k, 9}, 2), random({9}, 3)},
               .attrs = {{"transpose_b", tb}, {"num_args", 1}, {"fused_ops", ops}},
               .tolerance = 1e-4,
               .unlike_tensorflow = k > 1000 ? "TensorFlow sums 16-bit floats in 16 bits" : ""});
      }
    }
  }
}

}  // namespace
}  // namespace argosy
