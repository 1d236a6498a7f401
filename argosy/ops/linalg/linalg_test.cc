#include "argosy/ops/linalg/linalg.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Values = std::vector<Value>;

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
template <typename T>
Tensor complex_numbers(const Shape& shape, std::uint64_t seed = 1) {
  Tensor x = Tensor::zeros(dtype_of<std::complex<T>>(), shape);
  const Tensor parts = random_tensor(dtype_of<T>(), {2, shape.elements()}, seed);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    x.data<std::complex<T>>()[i] = {parts.data<T>()[i], parts.data<T>()[shape.elements() + i]};
  }
  return x;
}
// Far from singular: `diagonal` added to random numbers.
template <typename T>
Tensor with_diagonal(Tensor x, T diagonal) {
  const std::int64_t n = x.shape().back();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (i / n % n == i % n) x.data<T>()[i] += diagonal;
  }
  return x;
}
Tensor regular(const Shape& shape, std::uint64_t seed = 1) { return with_diagonal(numbers(shape, seed), 3.0f); }
template <typename T>
Tensor complex_regular(const Shape& shape) {
  return with_diagonal(complex_numbers<T>(shape), std::complex<T>(3));
}
// A matrix of low triangle `l` and what mirrors it.
Tensor self_adjoint(const Shape& shape, float diagonal) {
  Tensor x = with_diagonal(numbers(shape), diagonal);
  const std::int64_t n = shape.back();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t row = i / n % n, column = i % n, matrix = i / (n * n) * n * n;
    if (column > row) x.data<float>()[i] = x.data<float>()[matrix + column * n + row];
  }
  return x;
}

// Values alone: the signs of vectors are anybody's choice, and what stands in their place when nobody asks for them is,
// too.
std::vector<Tensor> first_output(const char* op, const Tensor& x, const AttrMap& attrs, std::size_t outputs) {
  auto values = evaluate_op(*builtin_ops().find(op), attrs, {x});
  EXPECT_TRUE(values.ok()) << values.status().to_string();
  std::vector<Tensor> expect(outputs);
  if (values.ok()) expect[0] = (*values)[0];
  return expect;
}

void unary(const char* op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {}, double tolerance = 1e-4) {
  for (const Tensor& x : inputs) {
    check({.op = op, .inputs = {x}, .attrs = attrs, .tolerance = tolerance, .check_gradient = false});
  }
  for (const Shape& bad : {Shape{3}, Shape{2, 3}}) {
    if (bad.rank() == 2 && (op == std::string_view("Qr") || op == std::string_view("Svd"))) continue;
    if (op == std::string_view("Eig") || op == std::string_view("MatrixLogarithm")) continue;
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, bad)}, .attrs = attrs, .error = Code::kInvalidArgument});
  }
}

TEST(LinalgOps, Definitions) {
  const Tensor a = Tensor::of<float>({2, 2}, {4, 99, 2, 3});  // only the lower triangle is read
  check({.op = "Cholesky",
         .inputs = {a},
         .expect = {Tensor::of<float>({2, 2}, {2, 0, 1, std::sqrt(2.0f)})},
         .check_gradient = false});
  const Tensor b = Tensor::of<float>({2, 2}, {0, 1, 2, 3});
  check({.op = "MatrixDeterminant", .inputs = {b}, .expect = {Tensor::scalar(-2.0f)}});
  check(
      {.op = "LogMatrixDeterminant", .inputs = {b}, .expect = {Tensor::scalar(-1.0f), Tensor::scalar(std::log(2.0f))}});
  check({.op = "MatrixInverse", .inputs = {b}, .expect = {Tensor::of<float>({2, 2}, {-1.5f, 0.5f, 1, 0})}});
  check({.op = "Lu",
         .inputs = {b},
         .expect = {Tensor::of<float>({2, 2}, {2, 3, 0, 1}), Tensor::vector<std::int32_t>({1, 0})}});
  check({.op = "MatrixSolve",
         .inputs = {b, Tensor::of<float>({2, 1}, {1, 5})},
         .expect = {Tensor::of<float>({2, 1}, {1, 1})}});
  check({.op = "SelfAdjointEigV2",
         .inputs = {Tensor::of<float>({2, 2}, {2, 0, 1, 2})},
         .expect = {Tensor::vector<float>({1, 3}), Tensor()},
         .check_gradient = false});
  check({.op = "Svd",
         .inputs = {Tensor::of<float>({2, 2}, {0, 3, -4, 0})},
         .expect = {Tensor::vector<float>({4, 3}), Tensor(), Tensor()},
         .check_gradient = false});
  check({.op = "MatrixSquareRoot",
         .inputs = {Tensor::of<float>({2, 2}, {4, 1, 0, 9})},
         .expect = {Tensor::of<float>({2, 2}, {2, 0.2f, 0, 3})}});
  check({.op = "MatrixSquareRoot",
         .inputs = {Tensor::of<float>({2, 2}, {-4, 1, 0, 9})},
         .expect = {Tensor::of<float>({2, 2}, {NAN, NAN, NAN, NAN})}});
  // Near the ends of the range QR steps do not converge without scaling.
  check({.op = "MatrixSquareRoot",
         .inputs = {Tensor::of<double>({2, 2}, {1e308, 1, 2, 3})},
         .expect = {Tensor::of<double>({2, 2}, {1e154, 0, 0, std::sqrt(3.0)})},
         .other_dtypes = false});
  // Roots that are not real are told, however small or large.
  for (const double least : {-1e-30, -1e308}) {
    check({.op = "MatrixSquareRoot",
           .inputs = {Tensor::of<double>({2, 2}, {least, 0, 0, least})},
           .expect = {Tensor::of<double>({2, 2}, {NAN, NAN, NAN, NAN})},
           .other_dtypes = false});
  }
  using C = std::complex<double>;
  check({.op = "MatrixLogarithm",
         .inputs = {Tensor::of<C>({2, 2}, {C(1e308), C(1), C(2), C(3)})},
         .expect = {Tensor::of<C>({2, 2}, {C(std::log(1e308)), C(0), C(0), C(std::log(3.0))})},
         .other_dtypes = false});
  // Of singular matrices whose eigenvalues lie together Eigen's own took roots for ever.
  const Tensor singular = Tensor::of<C>({3, 3}, {C(0), C(1), C(2), C(0), C(0.05), C(3), C(0), C(0), C(0.08)});
  const Tensor none = Tensor::of<C>({3, 3}, std::vector<C>(9, C(NAN, NAN)));
  check({.op = "MatrixLogarithm",
         .inputs = {singular},
         .expect = {none},
         .other_dtypes = false,
         .unlike_tensorflow = "a singular matrix has no logarithm, and TensorFlow looks for one for ever"});
  check({.op = "MatrixLogarithm",
         .inputs = {Tensor::of<C>({2, 2}, {C(1e-170), C(0), C(0), C(1e-170)})},
         .expect = {Tensor::of<C>({2, 2}, {C(std::log(1e-170)), C(0), C(0), C(std::log(1e-170))})},
         .other_dtypes = false});
}

TEST(LinalgOps, Factors) {
  const Tensor empty = Tensor::zeros(DType::kFloat32, {2, 0, 0}), none = Tensor::zeros(DType::kFloat32, {0, 2, 2});
  unary("Cholesky",
        {self_adjoint({2, 4, 4}, 4), with_diagonal(Tensor::zeros(DType::kFloat32, {1, 1}), 4.0f), empty, none});
  unary("MatrixInverse",
        {regular({2, 3, 4, 4}), complex_regular<float>({3, 3}), complex_regular<double>({2, 3, 3}), empty, none},
        {{"adjoint", false}});
  unary("MatrixInverse", {regular({4, 4}), complex_regular<double>({2, 3, 3})}, {{"adjoint", true}});
  unary("MatrixDeterminant",
        {regular({2, 3, 3}), complex_regular<double>({3, 3}), empty, none, Tensor::zeros(DType::kFloat32, {2, 2})});
  unary("LogMatrixDeterminant", {regular({2, 3, 3}), complex_regular<float>({3, 3}), empty, none});
  unary("Lu", {regular({2, 5, 5}), complex_regular<double>({3, 3}), empty, none});
  unary("Lu", {regular({2, 3, 3})}, {{"output_idx_type", DType::kInt64}});
  unary("MatrixSquareRoot", {self_adjoint({2, 3, 3}, 5), complex_regular<double>({3, 3}), empty, none}, {}, 1e-3);
  unary("MatrixLogarithm", {complex_regular<float>({2, 3, 3}), complex_regular<double>({3, 3})}, {}, 1e-3);
  for (const bool full : {false, true}) {
    const AttrMap attrs = {{"full_matrices", full}};
    unary("Qr",
          {numbers({2, 4, 3}), numbers({3, 4}), numbers({3, 3}), complex_numbers<double>({4, 2}),
           Tensor::zeros(DType::kFloat32, {3, 0}), Tensor::zeros(DType::kFloat32, {0, 3}), empty},
          attrs);
    unary("Svd", {Tensor::zeros(DType::kFloat32, {3, 0}), Tensor::zeros(DType::kFloat32, {0, 3}), empty}, attrs);
    for (const Shape& shape : {Shape{2, 4, 3}, Shape{3, 4}, Shape{3, 3}}) {
      for (const bool vectors : {true, false}) {
        const AttrMap both = {{"full_matrices", full}, {"compute_uv", vectors}};
        check({.op = "Svd",
               .inputs = {numbers(shape)},
               .attrs = both,
               .expect = first_output("Svd", numbers(shape), both, 3),
               .tolerance = 1e-3,
               .check_gradient = false});
      }
    }
  }
  for (const bool vectors : {true, false}) {
    AttrMap attrs = {{"compute_v", vectors}};
    const Tensor x = self_adjoint({2, 4, 4}, 1);
    check({.op = "SelfAdjointEigV2",
           .inputs = {x},
           .attrs = attrs,
           .expect = first_output("SelfAdjointEigV2", x, attrs, 2),
           .tolerance = 1e-3,
           .check_gradient = false});
    attrs.set("Tout", DType::kComplex64);
    check({.op = "Eig",
           .inputs = {x},
           .attrs = attrs,
           .expect = first_output("Eig", x, attrs, 2),
           .tolerance = 1e-3,
           .other_dtypes = false,
           .unlike_tensorflow = "their order is not defined"});
    attrs.set("Tout", DType::kComplex128);
    const Tensor z = complex_regular<double>({3, 3});
    check({.op = "Eig",
           .inputs = {z},
           .attrs = attrs,
           .expect = first_output("Eig", z, attrs, 2),
           .other_dtypes = false});
  }
  check({.op = "SelfAdjointEigV2", .inputs = {empty}, .check_gradient = false});
  check({.op = "Eig",
         .inputs = {regular({2, 3, 3})},
         .attrs = {{"Tout", DType::kComplex128}},
         .error = Code::kInvalidArgument});
  for (const char* op : {"MatrixInverse", "Lu"}) {
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {2, 2})}, .error = Code::kInvalidArgument});
  }
}

TEST(LinalgOps, FactorsGiveTheMatrixBack) {
  const Tensor a = random_tensor(DType::kFloat64, {2, 5, 3}, 4);
  Graph graph;
  const auto of = [&](const char* op, std::initializer_list<Value> x, AttrMap attrs = {}) {
    return graph.add(op, x, std::move(attrs));
  };
  const Value x = constant(graph, a);
  const SvdFactors s = svd(x);
  const Value again =
      of("BatchMatMulV2", {of("BatchMatMulV2", {s.u, of("MatrixDiag", {s.s})}), s.v}, {{"adj_y", true}});
  const QrFactors q = qr(x, true);
  const auto values = evaluate(graph, {}, {again.endpoint(), of("BatchMatMulV2", {q.q, q.r}).endpoint()});
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  for (const Tensor& y : *values) EXPECT_EQ(difference(y, a, 1e-12), "");
}

TEST(LinalgOps, Solutions) {
  for (const bool adjoint : {false, true}) {
    const auto solves = [&](const Tensor& a, const Tensor& b, bool gradient = true) {
      check({.op = "MatrixSolve",
             .inputs = {a, b},
             .attrs = {{"adjoint", adjoint}},
             .tolerance = 1e-4,
             .check_gradient = gradient});
    };
    solves(regular({2, 3, 3}), numbers({2, 3, 2}));
    solves(complex_regular<double>({3, 3}), complex_numbers<double>({3, 2}));
    solves(regular({3, 3}), Tensor::zeros(DType::kFloat32, {3, 0}), false);
    for (const bool lower : {false, true}) {
      const auto triangular = [&](const Tensor& a, const Tensor& b, bool gradient = true) {
        check({.op = "MatrixTriangularSolve",
               .inputs = {a, b},
               .attrs = {{"adjoint", adjoint}, {"lower", lower}},
               .tolerance = 1e-4,
               .check_gradient = gradient});
      };
      triangular(regular({2, 3, 3}), numbers({2, 3, 2}));
      triangular(regular({3, 3}), numbers({2, 3, 2}));
      triangular(regular({2, 1, 3, 3}), numbers({4, 3, 1}));
      triangular(complex_regular<double>({3, 3}), complex_numbers<double>({3, 2}));
      triangular(regular({3, 3}), Tensor::zeros(DType::kFloat32, {3, 0}), false);
      for (const std::int64_t bands : {1, 2, 3}) {
        Tensor matrix = numbers({2, bands, 5});
        for (std::int64_t i = 0; i < matrix.elements(); ++i) matrix.data<float>()[i] += 2;
        check({.op = "BandedTriangularSolve",
               .inputs = {matrix, numbers({2, 5, 3})},
               .attrs = {{"adjoint", adjoint}, {"lower", lower}},
               .tolerance = 1e-4});
        check({.op = "BandedTriangularSolve",
               .inputs = {matrix, numbers({5, 3})},
               .attrs = {{"adjoint", adjoint}, {"lower", lower}},
               .tolerance = 1e-4});
      }
    }
  }
  for (const bool fast : {false, true}) {
    for (const double l2 : {0.0, 0.5}) {
      for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 3, 4}, Shape{2, 3, 3}}) {
        if (!fast && l2 > 0) continue;  // the slow way does not look at it
        check({.op = "MatrixSolveLs",
               .inputs = {numbers(shape), numbers({2, shape[1], 2}, 5), Tensor::scalar(l2)},
               .attrs = {{"fast", fast}},
               .tolerance = 1e-2,
               .other_dtypes = false,
               .check_gradient = fast,
               .constant_inputs = {2},
               .gradient_tolerance = 1e-4});
      }
    }
  }
}

TEST(LinalgOps, RefusesWhatDoesNotFit) {
  const auto refuses = [](const char* op, std::vector<Tensor> inputs) {
    check({.op = op, .inputs = std::move(inputs), .error = Code::kInvalidArgument});
  };
  refuses("MatrixSolve", {Tensor::zeros(DType::kFloat32, {2, 2}), numbers({2, 1})});
  refuses("MatrixSolve", {regular({2, 2}), numbers({3, 1})});
  refuses("MatrixSolve", {regular({1, 2, 2}), numbers({3, 2, 1})});
  refuses("MatrixSolve", {regular({2, 2}), numbers({2})});
  refuses("MatrixTriangularSolve", {regular({2, 2}), numbers({3, 1})});
  refuses("MatrixTriangularSolve", {regular({2, 2, 2}), numbers({3, 2, 1})});
  refuses("BandedTriangularSolve", {Tensor::zeros(DType::kFloat32, {2, 4}), numbers({4, 1})});
  refuses("MatrixSolveLs", {numbers({3, 2}), numbers({3, 1}), Tensor::scalar(-1.0)});
  refuses("MatrixSolveLs", {numbers({3, 2}), numbers({3, 1}), Tensor::vector<double>({1})});
  refuses("MatrixSolveLs", {Tensor::zeros(DType::kFloat32, {3, 2}), numbers({3, 1}), Tensor::scalar(0.0)});
  refuses("TridiagonalSolve", {numbers({2, 4}), numbers({4, 1})});
  refuses("TridiagonalSolve", {numbers({3, 4}), numbers({5, 1})});
  refuses("TridiagonalMatMul", {numbers({1, 3}), numbers({1, 4}), numbers({1, 4}), numbers({4, 1})});
  refuses("CholeskyGrad", {numbers({3, 3}), numbers({2, 2})});
}

TEST(LinalgOps, Tridiagonal) {
  Tensor diagonals = numbers({2, 3, 5});
  for (std::int64_t i = 0; i < diagonals.elements(); ++i) {
    if (i / 5 % 3 == 1) diagonals.data<float>()[i] += 3;
  }
  for (const bool pivoting : {false, true}) {
    check({.op = "TridiagonalSolve",
           .inputs = {diagonals, numbers({2, 5, 3}, 2)},
           .attrs = {{"partial_pivoting", pivoting}},
           .tolerance = 1e-4});
    check({.op = "TridiagonalSolve",
           .inputs = {numbers({3, 1}), numbers({1, 3}, 2)},
           .attrs = {{"partial_pivoting", pivoting}},
           .tolerance = 1e-4});
    check({.op = "TridiagonalSolve",
           .inputs = {Tensor::zeros(DType::kFloat32, {3, 4}), numbers({4, 2})},
           .attrs = {{"partial_pivoting", pivoting}},
           .check_gradient = false});
  }
  check({.op = "TridiagonalSolve",
         .inputs = {diagonals, numbers({2, 5, 3}, 2)},
         .attrs = {{"perturb_singular", true}},
         .tolerance = 1e-4});
  check({.op = "TridiagonalSolve", .inputs = {numbers({3, 6}, 7), numbers({6, 2}, 2)}, .tolerance = 1e-3});
  check({.op = "TridiagonalSolve", .inputs = {complex_numbers<double>({3, 4}, 3), complex_numbers<double>({4, 2}, 2)}});
  check({.op = "TridiagonalMatMul",
         .inputs = {numbers({2, 1, 4}, 1), numbers({2, 1, 4}, 2), numbers({2, 1, 4}, 3), numbers({2, 4, 3}, 4)}});
  check({.op = "CholeskyGrad", .inputs = {regular({2, 3, 3}), numbers({2, 3, 3}, 2)}, .tolerance = 1e-4});
}

// Pivots of 0 are moved. TensorFlow's numbers.
TEST(LinalgOps, TridiagonalOfASingularMatrix) {
  const Tensor singular = Tensor::of<float>({3, 3}, {1, 1, 0, 0, 0, 0, 0, 1, 1});
  check({.op = "TridiagonalSolve",
         .inputs = {singular, Tensor::of<float>({3, 1}, {1, 1, 1})},
         .attrs = {{"perturb_singular", true}},
         .expect = {Tensor::of<float>({3, 1}, {1, 1, 0})},
         .check_gradient = false});
  check({.op = "TridiagonalSolve",
         .inputs = {singular, Tensor::of<float>({3, 1}, {1, 1, 1})},
         .attrs = {{"perturb_singular", true}, {"partial_pivoting", false}},
         .error = Code::kInvalidArgument});
}

// Factors are not unique, and read half a matrix: what is made of them is differentiated.
TEST(LinalgOps, Gradients) {
  const Tensor a = with_diagonal(random_tensor(DType::kFloat64, {2, 3, 3}, 3), 2.0);
  const auto product = [](Value x, Value y, bool adj_y = false) {
    return x.graph().add("BatchMatMulV2", {x, y}, {{"adj_y", adj_y}});
  };
  const auto gradients_of = [](std::vector<std::string> ops, Tensor at, std::function<Values(Value)> f) {
    check_gradients({.ops = std::move(ops),
                     .at = {std::move(at)},
                     .f = [&f](Graph&, const Values& x) { return f(x[0]); },
                     .tolerance = 1e-4});
  };
  gradients_of({"Cholesky"}, a, [&](Value x) -> Values { return {cholesky(product(x, x, true))}; });
  gradients_of({"SelfAdjointEigV2"}, a, [&](Value x) -> Values {
    const EigenFactors f = self_adjoint_eig(product(x, x, true));
    return {f.e, square(f.v)};
  });
  gradients_of({}, a, [&](Value x) -> Values { return {self_adjoint_eig(product(x, x, true), false).e}; });
  gradients_of({"BatchCholesky"}, a,
               [&](Value x) -> Values { return {x.graph().add("BatchCholesky", {product(x, x, true)})}; });
  gradients_of({"BatchSelfAdjointEigV2"}, a, [&](Value x) -> Values {
    return {x.graph().add("BatchSelfAdjointEigV2", {product(x, x, true)}, {{"compute_v", false}})};
  });
  for (const Shape& shape : {Shape{2, 3, 3}, Shape{4, 3}, Shape{3, 4}}) {
    const Tensor m = random_tensor(DType::kFloat64, shape, 5);
    if (shape[shape.rank() - 2] >= shape.back()) {
      gradients_of({"Qr"}, m, [&](Value x) -> Values { return {qr(x).q, qr(x).r}; });
    }
    gradients_of({"Svd"}, m, [&](Value x) -> Values {
      const SvdFactors f = svd(x);
      return {f.s, square(f.u), square(f.v)};
    });
    gradients_of({}, m, [&](Value x) -> Values { return {svd(x, false, false).s}; });
  }
  gradients_of({"LogMatrixDeterminant"}, a,
               [&](Value x) -> Values { return {x.graph().add("LogMatrixDeterminant", {x}).output(1)}; });
  gradients_of({"MatrixDeterminant"}, a, [&](Value x) -> Values { return {matrix_determinant(x)}; });
  for (const bool adjoint : {false, true}) {
    gradients_of({"MatrixInverse"}, a, [&](Value x) -> Values { return {matrix_inverse(x, adjoint)}; });
  }
}

// The names of before ops took stacks of matrices.
TEST(LinalgOps, OldNames) {
  const Tensor a = regular({2, 3, 3}), b = numbers({2, 3, 2}, 3), definite = self_adjoint({2, 3, 3}, 4);
  const auto same = [](const char* op, const std::vector<Tensor>& x, const AttrMap& attrs = {},
                       const std::vector<int>& constant_inputs = {}) {
    const auto expect = evaluate_op(*builtin_ops().find(op), attrs, x);
    ASSERT_TRUE(expect.ok()) << expect.status().to_string();
    check({.op = str_cat("Batch", op),
           .inputs = x,
           .attrs = attrs,
           .expect = *expect,
           .constant_inputs = constant_inputs,
           .gradient_tolerance = 1e-3});
  };
  same("MatrixInverse", {a});
  same("MatrixInverse", {a}, {{"adjoint", true}});
  same("MatrixDeterminant", {a});
  same("MatrixSolve", {a, b});
  same("MatrixTriangularSolve", {a, b}, {{"lower", false}});
  same("MatrixSolveLs", {a, b, Tensor::scalar(0.1)}, {}, {2});
  for (const char* op : {"BatchCholesky", "BatchCholeskyGrad", "BatchSelfAdjointEigV2", "BatchSvd"}) {
    const std::string_view name(op);
    std::vector<Tensor> x = {name == "BatchSvd" ? numbers({3, 2}) : definite};
    if (name.ends_with("Grad")) x.push_back(numbers({2, 3, 3}, 5));
    AttrMap attrs;
    if (name.ends_with("V2")) attrs.set("compute_v", false);
    if (name == "BatchSvd") attrs.set("compute_uv", false);
    check({.op = op,
           .inputs = x,
           .attrs = attrs,
           .check_gradient = name == "BatchSvd",  // the others read one triangle: below
           .unlike_tensorflow =
               name.ends_with("V2") || name == "BatchSvd" ? "leaves vectors that nobody asked for unset" : ""});
    x[0] = numbers({3});
    check({.op = op, .inputs = x, .attrs = attrs, .error = Code::kInvalidArgument});
  }
}

TEST(LinalgOps, EigenvaluesAboveVectors) {
  const Tensor a = Tensor::of<float>({2, 2}, {2, 0, 0, 5});
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) {
    check({.op = op, .inputs = {a}, .expect = {Tensor::of<float>({3, 2}, {2, 5, 1, 0, 0, 1})}});
    check({.op = op,
           .inputs = {Tensor::zeros(DType::kFloat32, {2, 0, 0})},
           .expect = {Tensor::zeros(DType::kFloat32, {2, 1, 0})}});
    check({.op = op, .inputs = {numbers({2, 3})}, .error = Code::kInvalidArgument});
  }
}

}  // namespace
}  // namespace argosy
