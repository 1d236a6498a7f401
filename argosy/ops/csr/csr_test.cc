// CSR matrices: forms, products, gradients. Whole programs against TensorFlow: tests/oracle/programs/control.py.
#include "argosy/ops/csr/csr.h"

#include <gtest/gtest.h>

#include <complex>

#include "argosy/base/memory/host_budget.h"
#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Numbers = std::vector<std::int64_t>;
using Complex = std::complex<double>;

Tensor places(std::int64_t rank, const Numbers& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size()) / rank, rank}, std::span(v));
}
const Numbers kPlaces = {0, 1, 2, 0, 2, 2};                // in [3, 4]
const Numbers kBatchPlaces = {0, 1, 1, 1, 0, 0, 1, 0, 1};  // in [2, 2, 2]

Value matrix(Graph& g, const Numbers& at, const Numbers& sizes, Value values) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  return csr_from_sparse(constant(g, places(rank, at)), values, constant(g, Tensor::vector(sizes)));
}
Value example(Graph& g) { return matrix(g, kPlaces, {3, 4}, constant(g, Tensor::vector<float>({1, 2, 3}))); }
Value batch(Graph& g) { return matrix(g, kBatchPlaces, {2, 2, 2}, constant(g, Tensor::vector<float>({1, 2, 3}))); }

using Body = std::function<Value(Graph&)>;
void gives(const Body& body, const Tensor& expected) {
  Graph g;
  const Value y = body(g);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto got = evaluate(g, {}, {y.endpoint()});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(difference((*got)[0], expected, 1e-6), "");
}
void fails(const Body& body, const std::string& sentence) {
  Graph g;
  const Value y = body(g);
  Status status = g.status();
  if (status.ok()) status = evaluate(g, {}, {y.endpoint()}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << sentence;
  EXPECT_NE(status.to_string().find(sentence), std::string::npos) << status.to_string();
}
Value dense(Value m) { return csr_to_dense(m, DType::kFloat32); }

TEST(Csr, Forms) {
  const Tensor expected = Tensor::of<float>({3, 4}, {0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0});
  gives([](Graph& g) { return dense(example(g)); }, expected);
  gives([](Graph& g) { return dense(batch(g)); }, Tensor::of<float>({2, 2, 2}, {0, 0, 0, 1, 2, 3, 0, 0}));
  // Places in any order: each value stays at its place.
  gives(
      [](Graph& g) {
        return dense(matrix(g, {2, 2, 0, 1, 2, 0}, {3, 4}, constant(g, Tensor::vector<float>({3, 1, 2}))));
      },
      expected);
  gives(
      [&](Graph& g) {
        return dense(csr_from_dense(constant(g, expected), constant(g, places(2, {0, 1, 2, 0, 2, 2}))));
      },
      expected);
  gives([&](Graph& g) { return g.add("SparseMatrixNNZ", {example(g)}); }, Tensor::scalar(3));
  gives([&](Graph& g) { return g.add("SparseMatrixNNZ", {batch(g)}); }, Tensor::vector<std::int32_t>({1, 2}));
  const auto component = [](int output, int index, bool batched) {
    return [=](Graph& g) {
      return g
          .add("CSRSparseMatrixComponents", {batched ? batch(g) : example(g), constant(g, index)},
               {{"type", DType::kFloat32}})
          .output(output);
    };
  };
  gives(component(0, 0, false), Tensor::vector<std::int32_t>({0, 1, 1, 3}));
  gives(component(1, 0, false), Tensor::vector<std::int32_t>({1, 0, 2}));
  gives(component(2, 0, false), Tensor::vector<float>({1, 2, 3}));
  gives(component(0, 1, true), Tensor::vector<std::int32_t>({0, 2, 2}));
  gives(component(2, 1, true), Tensor::vector<float>({2, 3}));
  const auto sparse = [](int output) {
    return [=](Graph& g) {
      return g.add("CSRSparseMatrixToSparseTensor", {batch(g)}, {{"type", DType::kFloat32}}).output(output);
    };
  };
  gives(sparse(0), places(3, kBatchPlaces));
  gives(sparse(1), Tensor::vector<float>({1, 2, 3}));
  gives(sparse(2), Tensor::vector<std::int64_t>({2, 2, 2}));
  gives(
      [](Graph& g) {
        return dense(g.add("SparseMatrixZeros", {constant(g, Tensor::vector<std::int64_t>({2, 1}))},
                           {{"type", DType::kFloat32}}));
      },
      Tensor::of<float>({2, 1}, {0, 0}));
}

TEST(Csr, WrongForms) {
  const auto from = [](const Numbers& at, std::int64_t rank, const Numbers& sizes) {
    return [=](Graph& g) {
      return dense(csr_from_sparse(constant(g, places(rank, at)), constant(g, Tensor::vector<float>({1})),
                                   constant(g, Tensor::vector(sizes))));
    };
  };
  fails(from({0, 9}, 2, {3, 4}), "Sparse index tuple indices[0, :] = [0, 9] is out of bounds");
  fails(from({-1, 0}, 2, {3, 4}), "Sparse index tuple indices[0, :] = [-1, 0] is out of bounds");
  fails(from({0, 0}, 2, {3, 1, 1}), "Index rank (2) and shape rank (3) do not match");
  fails(from({0, 0, 1, 1}, 2, {3, 4}), "Number of elements in indices (2) and values (1) do not match");
  fails(from({0, 0}, 2, {-3, 4}), "negative");
  fails(from({0, 0}, 2, {std::int64_t{1} << 40, 4}), "sizes of a CSR matrix fit an int32");
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 0, 3, 4, 5});
  const auto of_dense = [&](std::int64_t rank, const Numbers& at) {
    return [=](Graph& g) { return dense(csr_from_dense(constant(g, x), constant(g, places(rank, at)))); };
  };
  fails(of_dense(2, {0, 0, 1, 9}), "indices[1] = [1, 9] does not index into param shape [2,3]");
  fails(of_dense(3, {0, 0, 0}), "indices.shape[1] must be equal to the rank of params, but saw: 3 vs. 2");
  fails([](Graph& g) { return csr_to_dense(example(g), DType::kFloat64); },
        "Asked for a CSRSparseMatrix of type double but saw dtype: float");
  fails(
      [](Graph& g) {
        return g.add("CSRSparseMatrixComponents", {batch(g), constant(g, 2)}, {{"type", DType::kFloat32}});
      },
      "index (2) not in [0, 2)");
  fails(
      [](Graph& g) {
        const Value list = g.add("EmptyTensorList", {constant(g, Tensor::zeros(DType::kInt32, {0})), constant(g, 1)},
                                 {{"element_dtype", DType::kFloat32}});
        return g.add("SparseMatrixNNZ", {list});
      },
      "is not valid");
}

TEST(Csr, Products) {
  const Tensor x = Tensor::of<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto product = [](const Tensor& b, AttrMap attrs = {}) {
    return [=](Graph& g) { return g.add("SparseMatrixMatMul", {example(g), constant(g, b)}, attrs); };
  };
  gives(product(x), Tensor::of<float>({3, 2}, {2, 3, 0, 0, 12, 17}));
  gives(product(x, {{"transpose_output", true}}), Tensor::of<float>({2, 3}, {2, 0, 12, 3, 0, 17}));
  gives(product(Tensor::of<float>({2, 4}, {0, 2, 4, 6, 1, 3, 5, 7}), {{"transpose_b", true}}),
        Tensor::of<float>({3, 2}, {2, 3, 0, 0, 12, 17}));
  gives(product(Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5}), {{"adjoint_a", true}}),
        Tensor::of<float>({4, 2}, {8, 10, 0, 1, 12, 15, 0, 0}));
  fails(product(Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5})),
        "Inner product dimensions of A and B do not agree. Shapes are: [3,4] vs. [3,2]");
  fails(product(x, {{"transpose_a", true}, {"adjoint_a", true}}), "Only one of adjoint_a and transpose_a may be true.");
  fails(product(Tensor::of<float>({1, 4, 1}, {0, 1, 2, 3})), "Ranks of a and b must match, saw: 2 vs. 3.");
  fails(product(Tensor::of<double>({4, 1}, {0, 1, 2, 3})),
        "Input types don't match.  a.dtype == float vs. b.dtype == double");
  const auto square = [](bool turned) {
    return [=](Graph& g) {
      return dense(g.add("SparseMatrixSparseMatMul", {example(g), example(g)},
                         {{"type", DType::kFloat32}, {"transpose_a", turned}, {"transpose_b", !turned}}));
    };
  };
  gives(square(false), Tensor::of<float>({3, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 13}));
  gives(square(true), Tensor::of<float>({4, 4}, {4, 0, 6, 0, 0, 1, 0, 0, 6, 0, 9, 0, 0, 0, 0, 0}));
  fails(
      [](Graph& g) {
        return g.add("SparseMatrixSparseMatMul", {example(g), example(g)}, {{"type", DType::kFloat32}});
      },
      "Inner product dimensions of A and B do not agree.  Shapes are: [3,4] vs. [3,4]");
}

TEST(Csr, Arithmetic) {
  gives(
      [](Graph& g) {
        return dense(g.add("SparseMatrixTranspose", {example(g)}, {{"type", DType::kFloat32}}));
      },
      Tensor::of<float>({4, 3}, {0, 0, 2, 1, 0, 0, 0, 0, 3, 0, 0, 0}));
  gives(
      [](Graph& g) {
        return dense(g.add("Conj", {example(g)}, {{"T", DType::kVariant}}));
      },
      Tensor::of<float>({3, 4}, {0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0}));
  using C = std::complex<float>;
  gives(
      [](Graph& g) {
        const Value m = matrix(g, {0, 1}, {1, 2}, constant(g, Tensor::vector<C>({{1, 2}})));
        return csr_to_dense(g.add("Conj", {m}, {{"T", DType::kVariant}}), DType::kComplex64);
      },
      Tensor::of<C>({1, 2}, {{0, 0}, {1, -2}}));
  gives(
      [](Graph& g) {
        const Value other = matrix(g, {2, 2, 0, 0}, {3, 4}, constant(g, Tensor::vector<float>({-1, 5})));
        return dense(g.add("SparseMatrixAdd", {example(g), other, constant(g, 2.0f), constant(g, 3.0f)}));
      },
      Tensor::of<float>({3, 4}, {15, 2, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0}));
  gives(
      [](Graph& g) {
        return dense(g.add("SparseMatrixMul", {example(g), constant(g, -2.0f)}));
      },
      Tensor::of<float>({3, 4}, {0, -2, 0, 0, 0, 0, 0, 0, -4, 0, -6, 0}));
  gives(
      [](Graph& g) {
        return dense(g.add("SparseMatrixMul", {batch(g), constant(g, Tensor::of<float>({2, 1, 1}, {10, 100}))}));
      },
      Tensor::of<float>({2, 2, 2}, {0, 0, 0, 10, 200, 300, 0, 0}));
  fails(
      [](Graph& g) {
        return g.add("SparseMatrixMul", {example(g), constant(g, Tensor::vector<float>({1, 2}))});
      },
      "b must be a scalar");
  const double half = 1 / (1 + std::exp(1.0));
  gives(
      [](Graph& g) {
        return dense(g.add("SparseMatrixSoftmax", {example(g)}, {{"type", DType::kFloat32}}));
      },
      Tensor::of<float>({3, 4},
                        {0, 1, 0, 0, 0, 0, 0, 0, static_cast<float>(half), 0, static_cast<float>(1 - half), 0}));
}

// A = [[4, 2, 0], [2, 5, 1], [0, 1, 3]]: its lower factor, in its own order and in another one.
TEST(Csr, Factors) {
  const auto hermitian = [](Graph& g, std::vector<float> v) {
    return matrix(g, {0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 2, 1, 2, 2}, {3, 3}, constant(g, Tensor::vector(v)));
  };
  const auto positive = [&](Graph& g) { return hermitian(g, {4, 2, 2, 5, 1, 1, 3}); };
  const auto factor = [](Graph& g, Value m, const std::vector<std::int32_t>& order) {
    return g.add("SparseMatrixSparseCholesky", {m, constant(g, Tensor::vector(order))}, {{"type", DType::kFloat32}});
  };
  const auto root = [](double x) { return static_cast<float>(std::sqrt(x)); };
  gives(
      [&](Graph& g) {
        return dense(factor(g, positive(g), {0, 1, 2}));
      },
      Tensor::of<float>({3, 3}, {2, 0, 0, 1, 2, 0, 0, 0.5f, root(2.75)}));
  gives(
      [&](Graph& g) {
        return dense(factor(g, positive(g), {2, 0, 1}));
      },
      Tensor::of<float>({3, 3}, {root(3), 0, 0, 0, 2, 0, 1 / root(3), 1, root(11.0 / 3)}));
  gives([&](Graph& g) { return g.add("SparseMatrixNNZ", {factor(g, positive(g), {2, 0, 1})}); }, Tensor::scalar(5));
  gives([&](Graph& g) { return g.add("SparseMatrixOrderingAMD", {positive(g)}); },
        Tensor::vector<std::int32_t>({0, 1, 2}));
  // The row that meets all others comes last.
  const auto arrow = [](Graph& g) {
    Numbers places;
    for (std::int64_t i = 1; i < 6; ++i) places.insert(places.end(), {i, 0, i, i});
    places.insert(places.end(), {0, 0});
    return g.add("SparseMatrixOrderingAMD",
                 {matrix(g, places, {6, 6}, constant(g, Tensor::vector(std::vector<float>(11, 1.0f))))});
  };
  gives(arrow, Tensor::vector<std::int32_t>({1, 2, 3, 4, 5, 0}));
  // A batch, of which each matrix has an order of its own.
  const auto of_batch = [](Graph& g) {
    const Value m = matrix(g, {0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1}, {2, 2, 2},
                           constant(g, Tensor::vector<float>({4, 9, 4, 2, 2, 5})));
    const Value order = constant(g, Tensor::of<std::int32_t>({2, 2}, {1, 0, 0, 1}));
    return dense(g.add("SparseMatrixSparseCholesky", {m, order}, {{"type", DType::kFloat32}}));
  };
  gives(of_batch, Tensor::of<float>({2, 2, 2}, {3, 0, 0, 2, 2, 0, 1, 2}));
  fails(
      [&](Graph& g) {
        return factor(g, hermitian(g, {4, 2, 2, -5, 1, 1, 3}), {0, 1, 2});
      },
      "Sparse Cholesky factorization failed for batch index 0. The input might not be valid.");
  fails([&](Graph& g) { return factor(g, positive(g), {0, 1, 1}); }, "it must name each of 3 rows once");
  fails([&](Graph& g) { return factor(g, positive(g), {0, 1, 3}); }, "it must name each of 3 rows once");
  fails(
      [&](Graph& g) {
        return factor(g, positive(g), {0, 1});
      },
      "a permutation of shape [2] does not order the rows [3]");
  fails([&](Graph& g) { return factor(g, example(g), {0, 1, 2}); }, "sparse matrix must be square; got: 3 != 4");
  fails([&](Graph& g) { return g.add("SparseMatrixOrderingAMD", {example(g)}); }, "sparse matrix must be square");
}

// A matrix that is nearly empty, and a factor that is full: counted before it is made.
TEST(Csr, FactorsAreCountedBeforeTheyAreMade) {
  constexpr std::int64_t kRows = 4000;
  Graph g;
  Numbers places;
  std::vector<float> values;
  for (std::int64_t i = 0; i < kRows; ++i) {
    if (i > 0) {
      places.insert(places.end(), {i, 0});
      values.push_back(1);
    }
    places.insert(places.end(), {i, i});
    values.push_back(i == 0 ? 1.0f : 2.0f * kRows);
  }
  std::vector<std::int32_t> order(kRows);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const Value m = matrix(g, places, {kRows, kRows}, constant(g, Tensor::vector(values)));
  const Value y =
      g.add("SparseMatrixSparseCholesky", {m, constant(g, Tensor::vector(order))}, {{"type", DType::kFloat32}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto limit = host_budget().with_limit(host_budget().in_use() + (32 << 20));
  const auto out = evaluate(g, {}, {y.endpoint()});
  EXPECT_EQ(out.status().id(), "ARG-MEM-004") << out.status().to_string();
}

// Every combination of flags, for matrices and for batches of them.
TEST(Csr, GradientsOfProducts) {
  for (int flags = 0; flags < 64; ++flags) {
    const bool ta = flags & 1, tb = flags & 2, aa = flags & 4, ab = flags & 8, to = flags & 16, co = flags & 32;
    if ((ta && aa) || (tb && ab)) continue;
    const bool turned_a = ta || aa, turned_b = tb || ab;
    const std::int64_t inner = turned_a ? 3 : 4;
    const Shape shape = turned_b ? Shape({2, inner}) : Shape({inner, 2});
    // Complex numbers of two real ones each.
    check_gradients({.ops = {"SparseTensorToCSRSparseMatrix", "SparseMatrixMatMul"},
                     .at = {random_tensor(DType::kFloat64, {3}, 1), random_tensor(DType::kFloat64, {3}, 2),
                            random_tensor(DType::kFloat64, shape, 3), random_tensor(DType::kFloat64, shape, 4)},
                     .f = [&](Graph& g, const std::vector<Value>& x) {
                       const auto complex = [&](int i) {
                         return g.add("Complex", {x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i) + 1]},
                                      {{"Tout", DType::kComplex128}});
                       };
                       const Value m = matrix(g, kPlaces, {3, 4}, complex(0));
                       const Value y = g.add("SparseMatrixMatMul", {m, complex(2)},
                                             {{"transpose_a", ta},
                                              {"transpose_b", tb},
                                              {"adjoint_a", aa},
                                              {"adjoint_b", ab},
                                              {"transpose_output", to},
                                              {"conjugate_output", co}});
                       const AttrMap parts = {{"Tout", DType::kFloat64}};
                       return std::vector{g.add("Real", {y}, parts), g.add("Imag", {y}, parts)};
                     }});
    if (to || co) continue;
    const Numbers other = turned_a == turned_b ? Numbers{0, 0, 1, 2, 3, 1} : Numbers{0, 0, 1, 3, 2, 1};
    check_gradients(
        {.ops = {"SparseMatrixSparseMatMul", "CSRSparseMatrixToDense"},
         .at = {random_tensor(DType::kFloat64, {3}, 1), random_tensor(DType::kFloat64, {3}, 2),
                random_tensor(DType::kFloat64, {3}, 3), random_tensor(DType::kFloat64, {3}, 4)},
         .f = [&](Graph& g, const std::vector<Value>& x) {
           const auto complex = [&](int i) {
             return g.add("Complex", {x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i) + 1]},
                          {{"Tout", DType::kComplex128}});
           };
           const Value a = matrix(g, kPlaces, {3, 4}, complex(0));
           const Value b = matrix(g, other, turned_a == turned_b ? Numbers{4, 3} : Numbers{3, 4}, complex(2));
           const Value y = csr_to_dense(g.add("SparseMatrixSparseMatMul", {a, b},
                                              {{"type", DType::kComplex128},
                                               {"transpose_a", ta},
                                               {"transpose_b", tb},
                                               {"adjoint_a", aa},
                                               {"adjoint_b", ab}}),
                                        DType::kComplex128);
           const AttrMap parts = {{"Tout", DType::kFloat64}};
           return std::vector{g.add("Real", {y}, parts), g.add("Imag", {y}, parts)};
         }});
  }
}

TEST(Csr, OtherGradients) {
  // A matrix used twice, through every op; the places are in no order.
  check_gradients({.ops = {"DenseToCSRSparseMatrix", "CSRSparseMatrixToSparseTensor", "SparseMatrixTranspose",
                           "SparseMatrixAdd", "SparseMatrixSoftmax"},
                   .at = {random_tensor(DType::kFloat64, {3}, 1), random_tensor(DType::kFloat64, {3, 4}, 2)},
                   .f = [](Graph& g, const std::vector<Value>& x) {
                     const AttrMap type = {{"type", DType::kFloat64}};
                     const Value a = matrix(g, {2, 2, 0, 1, 2, 0}, {3, 4}, x[0]);
                     const Value b = csr_from_dense(x[1], constant(g, places(2, {0, 0, 0, 1, 2, 3})));
                     const Value both = g.add("SparseMatrixAdd", {a, b, constant(g, 2.0), constant(g, -3.0)});
                     const Value soft = g.add("SparseMatrixSoftmax", {both}, type);
                     const Value turned = g.add("SparseMatrixTranspose", {both}, type);
                     return std::vector{csr_to_dense(soft, DType::kFloat64), csr_to_dense(turned, DType::kFloat64),
                                        g.add("CSRSparseMatrixToSparseTensor", {a}, type).output(1)};
                   }});
  check_gradients({.ops = {"SparseMatrixMatMul"},
                   .at = {random_tensor(DType::kFloat64, {3}, 1), random_tensor(DType::kFloat64, {2, 2, 3}, 2)},
                   .f = [](Graph& g, const std::vector<Value>& x) {
                     return std::vector{csr_matmul(matrix(g, kBatchPlaces, {2, 2, 2}, x[0]), x[1])};
                   }});
}

}  // namespace
}  // namespace argosy
