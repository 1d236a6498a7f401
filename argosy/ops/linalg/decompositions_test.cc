// Decompositions that are made of reflections here: their factors give the matrix back, and solutions are the shortest.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Complex = std::complex<double>;

Tensor complex_numbers(const Shape& shape) {
  Tensor x = Tensor::zeros(DType::kComplex128, shape);
  const Tensor parts = random_tensor(DType::kFloat64, {2, shape.elements()}, 7);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    x.data<Complex>()[i] = {parts.data<double>()[i], parts.data<double>()[x.elements() + i]};
  }
  return x;
}

// u diag(s) vᴴ is x, and uᴴ u and vᴴ v are one.
void expect_factors_of(const Tensor& x, bool full) {
  Graph graph;
  const SvdFactors f = svd(constant(graph, x), full);
  const auto values = evaluate(graph, {}, {f.s.endpoint(), f.u.endpoint(), f.v.endpoint()});
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  const Tensor &s = (*values)[0], &u = (*values)[1], &v = (*values)[2];
  const std::int64_t m = x.shape()[0], n = x.shape()[1], k = s.elements();
  const auto at = [](const Tensor& t, std::int64_t row, std::int64_t column) {
    return t.data<Complex>()[row * t.shape()[1] + column];
  };
  for (std::int64_t j = 0; j + 1 < k; ++j) {
    EXPECT_GE(s.data<Complex>()[j].real(), s.data<Complex>()[j + 1].real());
  }
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      Complex sum = 0;
      for (std::int64_t j = 0; j < k; ++j) sum += at(u, row, j) * s.data<Complex>()[j] * std::conj(at(v, column, j));
      EXPECT_LT(std::abs(sum - at(x, row, column)), 1e-12) << x.shape().to_string() << " at " << row << ", " << column;
    }
  }
  for (const Tensor* t : {&u, &v}) {
    EXPECT_EQ(t->shape()[1], full ? t->shape()[0] : k);
    for (std::int64_t a = 0; a < t->shape()[1]; ++a) {
      for (std::int64_t b = 0; b < t->shape()[1]; ++b) {
        Complex sum = 0;
        for (std::int64_t row = 0; row < t->shape()[0]; ++row) sum += std::conj(at(*t, row, a)) * at(*t, row, b);
        EXPECT_LT(std::abs(sum - Complex(a == b ? 1 : 0)), 1e-12)
            << x.shape().to_string() << " columns " << a << ", " << b;
      }
    }
  }
}

TEST(Decompositions, SingularValuesOfComplexMatrices) {
  for (const bool full : {false, true}) {
    for (const Shape& shape :
         {Shape{1, 1}, Shape{5, 5}, Shape{7, 3}, Shape{3, 7}, Shape{1, 4}, Shape{4, 1}, Shape{40, 33}}) {
      expect_factors_of(complex_numbers(shape), full);
    }
    expect_factors_of(Tensor::zeros(DType::kComplex128, {3, 2}), full);
    expect_factors_of(Tensor::of<Complex>({2, 2}, {{0, 1e-200}, 0, 0, {1e-200, 0}}), full);
  }
}

TEST(Decompositions, ShortestOfTheBestSolutions) {
  const auto solves = [](const Tensor& a, const Tensor& b, const Tensor& x) {
    check({.op = "MatrixSolveLs",
           .inputs = {a, b, Tensor::scalar(0.0)},
           .attrs = {{"fast", false}},
           .expect = {x},
           .tolerance = 1e-9,
           .other_dtypes = false,
           .check_gradient = false});
  };
  using D = double;
  solves(Tensor::of<D>({1, 2}, {1, 1}), Tensor::of<D>({1, 1}, {2}), Tensor::of<D>({2, 1}, {1, 1}));
  // Of rank 1, without and with more rows than columns.
  solves(Tensor::of<D>({2, 2}, {1, 1, 1, 1}), Tensor::of<D>({2, 1}, {2, 4}), Tensor::of<D>({2, 1}, {1.5, 1.5}));
  solves(Tensor::of<D>({3, 2}, {1, 2, 2, 4, 0, 0}), Tensor::of<D>({3, 1}, {5, 10, 7}), Tensor::of<D>({2, 1}, {1, 2}));
  // The longest column is not the first; two right-hand sides.
  solves(Tensor::of<D>({3, 2}, {1, 0, 0, 10, 0, 0}), Tensor::of<D>({3, 2}, {3, 4, 20, 50, 1, 1}),
         Tensor::of<D>({2, 2}, {3, 4, 2, 5}));
  solves(Tensor::of<D>({2, 2}, {0, 0, 0, 0}), Tensor::of<D>({2, 1}, {2, 4}), Tensor::of<D>({2, 1}, {0, 0}));
  const auto complex =
      evaluate_op(*builtin_ops().find("MatrixSolveLs"), {{"fast", false}},
                  {Tensor::of<Complex>({1, 2}, {1, {0, 1}}), Tensor::of<Complex>({1, 1}, {2}), Tensor::scalar(0.0)});
  ASSERT_TRUE(complex.ok()) << complex.status().to_string();
  const Complex* const x = (*complex)[0].data<Complex>();
  EXPECT_LT(std::abs(x[0] - Complex(1)) + std::abs(x[1] - Complex(0, -1)), 1e-12);
}

}  // namespace
}  // namespace argosy
