// Samples whose parameters broadcast together, shuffled indices, Sobol's points. The numbers themselves are
// TensorFlow's: tests/oracle/ops/compare_ops.py holds every case against it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor number(double v) { return Tensor::scalar(v); }
const Tensor kSeed = Tensor::vector<std::int64_t>({5, 7});

TEST(BroadcastSamples, TruncatedNormal) {
  const auto draws = [](const Tensor& shape, Tensor mean, Tensor deviation, Tensor low, Tensor high) {
    check({.op = "StatelessParameterizedTruncatedNormal",
           .inputs = {shape, kSeed, std::move(mean), std::move(deviation), std::move(low), std::move(high)},
           .tolerance = 1e-4});
  };
  const auto row = [](float v) { return Tensor::scalar(v); };
  draws(ints({7}), row(0), row(1), row(-1), row(2));
  draws(ints({}), row(0), row(1), row(-1), row(2));
  draws(ints({5}), row(0), row(1), row(2), row(9));
  draws(ints({6}), row(0), row(1), row(0.1f), row(0.2f));
  draws(ints({3, 2}), Tensor::vector<float>({0, 5}), row(1), row(-1), row(6));
  draws(ints({3, 2, 2}), Tensor::vector<float>({0, 5}), Tensor::of<float>({2, 1}, {1, 3}), row(-1), row(INFINITY));
  draws(ints({0, 2}), row(0), row(1), row(-1), row(2));
  const auto refuses = [](const Tensor& shape, Tensor mean, Tensor deviation, const char* sentence) {
    check({.op = "StatelessParameterizedTruncatedNormal",
           .inputs = {shape, kSeed, std::move(mean), std::move(deviation), Tensor::scalar(-1.0f), Tensor::scalar(2.0f)},
           .error = Code::kInvalidArgument,
           .error_contains = sentence});
  };
  refuses(ints({3}), row(0), row(-1), "Invalid parameters");
  refuses(ints({3}), Tensor::vector<float>({0, 1}), row(1), "Shape passed in must end with broadcasted shape.");
  refuses(ints({2}), Tensor::vector<float>({0, 1}), Tensor::vector<float>({1, 1, 1}),
          "means, stddevs, minvals, maxvals must have compatible batch dimensions: [2] vs. [3] vs. [] vs. []");
  refuses(Tensor::scalar(3), row(0), row(1), "Input shape should be a vector, got shape: []");
}

TEST(BroadcastSamples, Binomial) {
  const Tensor counts = Tensor::vector<double>({1, 5, 40, 1000, 0, 1e9});
  const Tensor probs = Tensor::of<double>({6, 1}, {0, 0.01, 0.3, 0.5, 0.9, 1});
  for (const DType to : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    check({.op = "StatelessRandomBinomial",
           .inputs = {ints({4, 6, 6}), kSeed, counts, probs},
           .attrs = {{"dtype", to}},
           .other_dtypes = false});
  }
  check({.op = "StatelessRandomBinomial", .inputs = {ints({20}), kSeed, number(100), number(0.25)}});
  check({.op = "StatelessRandomBinomial",
         .inputs = {ints({20}), kSeed, Tensor::scalar<float>(100), Tensor::scalar(0.7f)},
         .attrs = {{"T", DType::kFloat32}}});
  check({.op = "StatelessRandomBinomial",
         .inputs = {ints({5}), kSeed, Tensor::scalar(100), Tensor::scalar(1)},
         .attrs = {{"T", DType::kInt32}}});
  check({.op = "StatelessRandomBinomial",  // no chance known: nothing to count
         .inputs = {ints({2}), kSeed, number(100), number(std::nan(""))},
         .attrs = {{"dtype", DType::kFloat32}},
         .expect = {Tensor::vector<float>({std::nanf(""), std::nanf("")})},
         .other_dtypes = false});
  const auto refuses = [](const Tensor& shape, const Tensor& n, const Tensor& p, const char* sentence) {
    check({.op = "StatelessRandomBinomial",
           .inputs = {shape, kSeed, n, p},
           .error = Code::kInvalidArgument,
           .error_contains = sentence});
  };
  refuses(ints({3}), Tensor::vector<double>({1, 2}), number(0.5), "Shape passed in must end with broadcasted shape.");
  refuses(ints({3}), Tensor::vector<double>({1, 2}), Tensor::vector<double>({1, 2, 3}),
          "counts and probs must have compatible batch dimensions: [2] vs. [3]");
  refuses(ints({-3}), number(1), number(0.5), "must be >= 0");
}

// A count that is no number, or infinite, must not keep the kernel from ending (TensorFlow's does not end).
TEST(BroadcastSamples, CountsThatAreNone) {
  const OpDef* const op = builtin_ops().find("StatelessRandomBinomial");
  const Tensor counts = Tensor::vector<double>({std::nan(""), INFINITY, -INFINITY, 1e300, -4});
  const auto y = evaluate_op(*op, {{"dtype", DType::kFloat64}}, {ints({5}), kSeed, counts, number(0.25)});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  const double* const k = (*y)[0].data<double>();
  EXPECT_TRUE(std::isnan(k[0]));
  EXPECT_TRUE(std::isnan(k[1]));
  EXPECT_EQ(k[2], 0);
  EXPECT_NEAR(k[3] / 1e300, 0.25, 0.01);
  EXPECT_EQ(k[4], 0);
}

TEST(BroadcastSamples, BinomialOfAGenerator) {
  const Tensor state = Tensor::vector<std::int64_t>({1, 2, 3});
  const Tensor philox = Tensor::scalar(std::int64_t{1});
  check_state({.op = "StatefulRandomBinomial",
               .inputs = {state, philox, ints({2, 3}), number(20), number(0.7)},
               .after = {Tensor::vector<std::int64_t>({1 + 2 * 100 * 9 / 4 * 256, 2, 3})},
               .other_dtypes = false});
  check_state({.op = "StatefulRandomBinomial",
               .inputs = {state, Tensor::scalar(std::int64_t{9}), ints({2}), number(20), number(0.7)},
               .error = Code::kInvalidArgument});
}

TEST(BroadcastSamples, RandomIndexShuffle) {
  const auto shuffles = [](Tensor index, Tensor seed, Tensor most, std::int64_t rounds = 4) {
    check({.op = "RandomIndexShuffle",
           .inputs = {std::move(index), std::move(seed), std::move(most)},
           .attrs = {{"rounds", rounds}},
           .other_dtypes = false});
  };
  const Tensor seed = ints({1, 2, 3});
  shuffles(ints({0, 1, 2, 3, 4, 5, 6, 7}), seed, Tensor::scalar(7));
  shuffles(Tensor::scalar(3), seed, Tensor::scalar(1000));
  shuffles(Tensor::scalar(0), seed, Tensor::scalar(0));
  shuffles(ints({1, 2}), Tensor::of<std::int64_t>({2, 3}, {-1, 2, std::int64_t{1} << 40, 4, 5, 6}), ints({7, 100000}));
  shuffles(Tensor::scalar(3), Tensor::vector<std::uint32_t>({7, 0xffffffffu, 9}), Tensor::scalar(100000), 8);
  for (int bits = 15; bits < 64; ++bits) {
    const std::uint64_t most = (std::uint64_t{1} << bits) + 3;
    shuffles(Tensor::vector<std::uint64_t>({0, most / 3, most}), seed, Tensor::scalar(most));
  }
  shuffles(Tensor::scalar(65536), seed, Tensor::scalar(65536));  // one more than the cipher's numbers
  const auto refuses = [&](Tensor index, Tensor key, Tensor most, const char* sentence) {
    check({.op = "RandomIndexShuffle",
           .inputs = {std::move(index), std::move(key), std::move(most)},
           .error = Code::kInvalidArgument,
           .error_contains = sentence});
  };
  refuses(Tensor::scalar(9), seed, Tensor::scalar(7), "max_index must be >= index, but 7 < 9");
  refuses(Tensor::scalar(-1), seed, Tensor::scalar(7), "index must be >= 0 but was -1");
  refuses(ints({0, 1}), ints({1, 2}), Tensor::scalar(7),
          "Seed must be a vector of size [3] or a matrix of size [2, 3]");
  refuses(Tensor::of<std::int32_t>({1, 1}, {0}), seed, Tensor::scalar(7), "Index bust be a scalar or vector.");
  check({.op = "RandomIndexShuffle",
         .inputs = {Tensor::scalar(1), seed, Tensor::scalar(7)},
         .attrs = {{"rounds", 5}},
         .error = Code::kInvalidArgument,
         .error_contains = "rounds must be even",
         .unlike_tensorflow = "TensorFlow reads keys that are not there"});
}

// Every index goes somewhere else.
TEST(BroadcastSamples, ShuffledIndicesAreAPermutation) {
  const OpDef* const op = builtin_ops().find("RandomIndexShuffle");
  for (const std::int32_t most : {1, 6, 255, 999}) {
    Tensor all = Tensor::zeros(DType::kInt32, {most + 1});
    for (std::int32_t i = 0; i <= most; ++i) all.data<std::int32_t>()[i] = i;
    const auto y = evaluate_op(*op, {{"rounds", 4}}, {all, ints({4, 5, 6}), Tensor::scalar(most)});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    std::vector<std::int32_t> got((*y)[0].values<std::int32_t>().begin(), (*y)[0].values<std::int32_t>().end());
    std::sort(got.begin(), got.end());
    for (std::int32_t i = 0; i <= most; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
  }
}

TEST(BroadcastSamples, SobolSample) {
  check({.op = "SobolSample",
         .inputs = {Tensor::scalar(2), Tensor::scalar(4), Tensor::scalar(0)},
         .expect = {Tensor::of<float>({4, 2}, {.5f, .5f, .75f, .25f, .25f, .75f, .375f, .375f})},
         .other_dtypes = false});
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const auto& [dim, n, skip] : {std::array{1, 40, 0}, {13, 70, 5}, {1111, 3, 0}, {1111, 5, 123456}}) {
      check({.op = "SobolSample",
             .inputs = {Tensor::scalar(dim), Tensor::scalar(n), Tensor::scalar(skip)},
             .attrs = {{"dtype", dtype}}});
    }
  }
  const auto refuses = [](int dim, int n, int skip, Code code, const char* sentence, const char* why = "") {
    check({.op = "SobolSample",
           .inputs = {Tensor::scalar(dim), Tensor::scalar(n), Tensor::scalar(skip)},
           .error = code,
           .error_contains = sentence,
           .unlike_tensorflow = why});
  };
  refuses(0, 3, 0, Code::kInvalidArgument, "dim must be at least one");
  refuses(21201, 3, 0, Code::kInvalidArgument, "dim must be at most 21200");
  refuses(2, 0, 0, Code::kInvalidArgument, "num_results must be at least one");
  refuses(2, 1, -1, Code::kInvalidArgument, "skip must be non-negative");
  refuses(2, 5, 2147483645, Code::kInvalidArgument, "num_results+skip must be less than 2147483647");
  refuses(1112, 3, 0, Code::kUnimplemented, "the direction numbers end with dimension 1111",
          "our table of direction numbers ends earlier");
}

}  // namespace
}  // namespace argosy
