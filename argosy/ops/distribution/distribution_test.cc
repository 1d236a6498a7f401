#include "argosy/ops/distribution/distribution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
AttrMap seeds() { return {{"seed", 1}, {"seed2", 2}}; }
const Tensor kKey = Tensor::vector<std::uint64_t>({3});
const Tensor kCounter = Tensor::vector<std::uint64_t>({1, 2});

// The numbers themselves are TensorFlow's: tests/oracle/ops/compare_ops.py holds every case against it.
TEST(DistributionOps, Gamma) {
  const Tensor alphas = Tensor::vector<float>({0.1f, 0.5f, 1, 2, 30});
  for (const auto& shape : {ints({}), ints({3}), ints({2, 40}), ints({0})}) {
    check({.op = "RandomGamma", .inputs = {shape, alphas}, .attrs = seeds(), .check_gradient = false});
  }
  check({.op = "RandomGamma", .inputs = {ints({4}), Tensor::scalar(2.0f)}, .attrs = seeds(), .check_gradient = false});
  check({.op = "StatelessRandomGammaV2", .inputs = {ints({6, 5}), ints({1, 2}), alphas}, .check_gradient = false});
  check({.op = "StatelessRandomGammaV3",
         .inputs = {ints({6, 5}), kKey, kCounter, Tensor::scalar(1), alphas},
         .check_gradient = false});
  check({.op = "StatelessRandomGammaV2",
         .inputs = {ints({6, 4}), ints({1, 2}), alphas},
         .error = Code::kInvalidArgument});
}

// The mean of Gamma(alpha, 1) is alpha: samples move with it, one by one on average.
TEST(DistributionOps, GradientOfGamma) {
  Graph graph;
  const Value alpha = constant(graph, Tensor::vector<double>({0.3, 1, 4}));
  const Value y = random_gamma(constant(graph, ints({20000})), alpha, 7);
  const Value slope = gradients(graph, {y}, {alpha})[0];
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  const auto sums = evaluate(graph, {}, {slope.endpoint()});
  ASSERT_TRUE(sums.ok()) << sums.status().to_string();
  for (const double sum : (*sums)[0].values<double>()) EXPECT_NEAR(sum / 20000, 1, 0.05);
}

TEST(DistributionOps, Poisson) {
  const Tensor rates = Tensor::vector<double>({0, 0.5, 3, 10, 20, 1000});
  for (const DType to : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    AttrMap attrs = seeds();
    attrs.set("dtype", to);
    check({.op = "RandomPoissonV2", .inputs = {ints({20}), rates}, .attrs = attrs, .other_dtypes = false});
    check({.op = "StatelessRandomPoisson",
           .inputs = {ints({7, 6}), ints({1, 2}), rates},
           .attrs = {{"dtype", to}},
           .other_dtypes = false});
  }
  check({.op = "RandomPoisson",
         .inputs = {ints({20}), rates},
         .attrs = seeds(),
         .unlike_tensorflow = "it left the op behind with GraphDef version 25"});
  check({.op = "RandomPoissonV2", .inputs = {ints({3}), ints({1, 20})}, .attrs = seeds(), .other_dtypes = false});
}

TEST(DistributionOps, RatesThatAreNone) {
  const double nan = std::nan("");
  AttrMap attrs = seeds();
  attrs.set("dtype", DType::kFloat64);
  const OpDef* const op = builtin_ops().find("RandomPoissonV2");
  const auto y = evaluate_op(*op, attrs, {ints({1}), Tensor::vector<double>({nan, 1e300, INFINITY, -1})});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  const double* const k = (*y)[0].data<double>();
  EXPECT_TRUE(std::isnan(k[0]));
  EXPECT_GT(k[1], 1e299);
  EXPECT_TRUE(std::isinf(k[2]));
  EXPECT_EQ(k[3], 0);
}

TEST(DistributionOps, TruncatedNormal) {
  const auto row = [](float v) { return Tensor::scalar(v); };
  const auto draws = [&](const Tensor& shape, Tensor mean, Tensor low, Tensor high) {
    check({.op = "ParameterizedTruncatedNormal",
           .inputs = {shape, std::move(mean), row(1), std::move(low), std::move(high)},
           .attrs = seeds(),
           .tolerance = 1e-4});
  };
  draws(ints({2, 3}), row(0), row(-1), row(2));
  draws(ints({4}), row(0), row(2), row(9));
  draws(ints({5}), row(0), row(-9), row(-2.5f));
  draws(ints({6}), row(0), row(0.1f), row(0.2f));
  draws(ints({250}), row(0), row(-2), row(2));
  draws(ints({3, 2}), Tensor::vector<float>({0, 1, 2}), row(-1), row(5));
  draws(ints({0}), row(0), row(-1), row(2));
  check({.op = "ParameterizedTruncatedNormal",
         .inputs = {ints({3}), row(0), row(-1), row(-1), row(2)},
         .attrs = seeds(),
         .error = Code::kInvalidArgument});
  check({.op = "ParameterizedTruncatedNormal",
         .inputs = {ints({3}), Tensor::vector<float>({0, 1}), row(1), row(-1), row(2)},
         .attrs = seeds(),
         .error = Code::kInvalidArgument});
}

TEST(DistributionOps, GeneratorsInVariables) {
  const Tensor state = Tensor::vector<std::int64_t>({1, 2, 3});
  const Tensor philox = Tensor::scalar(std::int64_t{1});
  const Tensor moved = Tensor::vector<std::int64_t>({1 + 6 * 256, 2, 3});
  const Tensor shape = Tensor::vector<std::int64_t>({2, 3});
  for (const char* op : {"StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"}) {
    for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
      check_state({.op = op,
                   .inputs = {state, philox, shape},
                   .attrs = {{"dtype", d}},
                   .after = {moved},
                   .other_dtypes = false});
    }
    check_state({.op = op, .inputs = {state, Tensor::scalar(std::int64_t{7}), shape}, .error = Code::kInvalidArgument});
  }
  for (const DType d : {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
    check_state({.op = "StatefulUniformFullInt",
                 .inputs = {state, philox, shape},
                 .attrs = {{"dtype", d}},
                 .after = {moved},
                 .other_dtypes = false});
  }
  check_state({.op = "StatefulUniformInt",
               .inputs = {state, philox, shape, Tensor::scalar(std::int64_t{-3}), Tensor::scalar(std::int64_t{10})},
               .after = {moved},
               .other_dtypes = false});
  check_state({.op = "StatefulUniform",
               .inputs = {Tensor::vector<std::int64_t>({1, 2}), philox, shape},
               .error = Code::kInvalidArgument});
  check_state({.op = "RngSkip",
               .inputs = {state, philox, Tensor::scalar(std::int64_t{5})},
               .after = {Tensor::vector<std::int64_t>({1281, 2, 3})},
               .other_dtypes = false});
  check_state({.op = "RngSkip",  // into the upper half of the counter
               .inputs = {Tensor::vector<std::int64_t>({-256, 2, 3}), philox, Tensor::scalar(std::int64_t{2})},
               .after = {Tensor::vector<std::int64_t>({256, 3, 3})},
               .other_dtypes = false});
  check_state({.op = "RngReadAndSkip",
               .inputs = {state, Tensor::scalar(1), Tensor::scalar(std::uint64_t{5})},
               .after = {Tensor::vector<std::int64_t>({1281, 2, 3})},
               .expect = {state},
               .other_dtypes = false});
  check_state(
      {.op = "RngReadAndSkip",  // of what the variable holds beside, nothing
       .inputs = {Tensor::vector<std::int64_t>({1, 2, 3, 4}), Tensor::scalar(1), Tensor::scalar(std::uint64_t{5})},
       .after = {Tensor::vector<std::int64_t>({1281, 2, 3, 4})},
       .expect = {state},
       .other_dtypes = false,
       .unlike_tensorflow = "TensorFlow dies of it"});
}

TEST(DistributionOps, Shuffle) {
  for (const auto& x : {ints({1, 2, 3, 4, 5}), ints({}), ints({7})}) {
    check({.op = "StatelessShuffle", .inputs = {x, kKey, kCounter, Tensor::scalar(1)}, .other_dtypes = false});
  }
  check({.op = "StatelessShuffle",
         .inputs = {Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), kKey, kCounter, Tensor::scalar(1)},
         .check_gradient = false});
}

TEST(DistributionOps, Chance) {
  check({.op = "NonDeterministicInts",
         .inputs = {Tensor::vector<std::int64_t>({4})},
         .expect = {Tensor()},
         .other_dtypes = false});
  const OpDef* const op = builtin_ops().find("NonDeterministicInts");
  const auto a = evaluate_op(*op, {}, {Tensor::vector<std::int64_t>({4})});
  const auto b = evaluate_op(*op, {}, {Tensor::vector<std::int64_t>({4})});
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().to_string();
  EXPECT_NE(difference((*a)[0], (*b)[0], 0), "");
}

}  // namespace
}  // namespace argosy
