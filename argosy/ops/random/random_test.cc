#include "argosy/ops/random/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/random/fill.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::vector<std::int32_t>(values); }
Tensor longs(std::initializer_list<std::int64_t> values) { return Tensor::vector<std::int64_t>(values); }
Tensor floats(std::initializer_list<float> values) { return Tensor::vector<float>(values); }

// The known answers of the Random123 distribution.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox(Philox::Key{0, 0}, {0, 0, 0, 0})(), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_EQ(Philox(Philox::Key{kAll, kAll}, {kAll, kAll, kAll, kAll})(),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(Philox::Key{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344})(),
            (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, VectorsOfBlocksAreTheSameBlocks) {
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{0xfffffff0}, ~std::uint64_t{0} - 700}) {
    for (const std::uint64_t step : {1, 3, 256}) {
      Philox from(Philox::Key{5, 6}, {0, 0, 7, 0xffffffff});
      from.skip(start);
      std::vector<std::uint32_t> words(4 * 67);
      philox_blocks(from, 67, step, words.data());
      for (std::size_t i = 0; i < 67; ++i) {
        Philox one = from;
        one.skip(i * step);
        const Philox::Block block = one();
        ASSERT_TRUE(std::equal(block.begin(), block.end(), words.begin() + 4 * i)) << start << " " << step << " " << i;
      }
    }
  }
}

// Numbers printed by TensorFlow 2.21 for these seeds.
TEST(RandomOps, TensorFlowsNumbers) {
  const auto draws = [](const char* op, DType dtype, Tensor expect, double tolerance = 1e-6) {
    check({.op = op,
           .inputs = {Tensor::vector<std::int64_t>({expect.elements()})},
           .attrs = {{"seed", 87654321}, {"seed2", 1}, {"dtype", dtype}},
           .expect = {cast_to(expect, dtype)},
           .tolerance = tolerance,
           .other_dtypes = false});
  };
  const auto doubles = [](std::initializer_list<double> v) { return Tensor::vector<double>(v); };
  draws("RandomUniform", DType::kFloat32,
        floats({0.23903739f, 0.92039955f, 0.050512433f, 0.49574447f, 0.83552229f, 0.026470423f, 0.08811307f}));
  draws("RandomUniform", DType::kFloat16,
        floats({0.1943359375f, 0.9130859375f, 0.7978515625f, 0.138671875f, 0.5986328125f, 0.845703125f}), 0);
  draws("RandomUniform", DType::kBfloat16,
        floats({0.5546875f, 0.3046875f, 0.3828125f, 0.109375f, 0.7890625f, 0.765625f}), 0);
  draws("RandomUniform", DType::kFloat64,
        doubles({0.9122999234504989, 0.4040997484619626, 0.6841790844248057, 0.704905089841523, 0.15071409333057018}));
  draws("RandomStandardNormal", DType::kFloat64,
        doubles({0.24282754598505307, -0.35299821810996557, -0.8365077914900015, -0.24356901971324732}));
  draws("RandomStandardNormal", DType::kFloat32,
        floats({-0.8113182f, 1.4845988f, 0.06532937f, -2.4427042f, 0.0992484f, 0.5912243f, 0.592823f, -2.1229296f,
                -0.7228972f}));
  draws("TruncatedNormal", DType::kFloat32,
        floats({-0.8113182f, 1.4845988f, 0.06532937f, 0.0992484f, 0.6396971f, 1.6108712f, 0.16353562f, -1.5157056f,
                1.3587774f}));
  draws("TruncatedNormal", DType::kFloat64,
        doubles({0.24282754598505307, -0.35299821810996557, -0.16554790468414687, 0.34224683233230957,
                 -0.012115088506327797}));
  draws("TruncatedNormal", DType::kFloat16,
        floats({-0.8115234375f, 1.484375f, 0.0653076171875f, 0.0992431640625f, 0.6396484375f}));

  const AttrMap seeds = {{"seed", 1}, {"seed2", 2}};
  check({.op = "RandomUniformInt",
         .inputs = {ints({6}), Tensor::scalar(-5), Tensor::scalar(1000)},
         .attrs = seeds,
         .expect = {ints({759, 765, 457, 234, 816, 401})},
         .other_dtypes = false});
  check({.op = "RandomUniformInt",
         .inputs = {ints({5}), Tensor::scalar<std::int64_t>(-5), Tensor::scalar<std::int64_t>(1000000000000000)},
         .attrs = seeds,
         .expect = {longs({990248698003064, 669816833411346, 932863528865077, 969556795886541, 733656294735598})},
         .other_dtypes = false});
  check({.op = "RandomShuffle",
         .inputs = {ints({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})},
         .attrs = seeds,
         .expect = {ints({9, 0, 8, 6, 1, 3, 7, 2, 4, 5})},
         .other_dtypes = false});
  check({.op = "RandomShuffle",
         .inputs = {Tensor::of<std::int32_t>({7, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})},
         .attrs = seeds,
         .expect = {Tensor::of<std::int32_t>({7, 2}, {10, 11, 12, 13, 8, 9, 4, 5, 2, 3, 0, 1, 6, 7})},
         .other_dtypes = false});
  check({.op = "Multinomial",
         .inputs = {Tensor::of<float>({2, 3}, {0, 1, 2, 3, 0, 0}), Tensor::scalar(5)},
         .attrs = seeds,
         .expect = {Tensor::of<std::int64_t>({2, 5}, {1, 2, 1, 1, 2, 0, 0, 0, 0, 0})}});
}

TEST(RandomOps, TensorFlowsStatelessNumbers) {
  const Tensor five = ints({5});
  const auto seed = [](std::int64_t b) { return Tensor::vector<std::int64_t>({3, b}); };
  const Tensor uniform = floats({0.24328744f, 0.9835063f, 0.22041726f, 0.46792018f, 0.77385795f});
  const auto is = [](const char* op, std::vector<Tensor> inputs, Tensor expect, AttrMap attrs = {}) {
    check({.op = op, .inputs = std::move(inputs), .attrs = attrs, .expect = {expect}, .other_dtypes = false});
  };
  is("StatelessRandomUniform", {five, seed(4)}, uniform);
  is("StatelessRandomNormal", {five, seed(-4)},
     floats({-1.780291f, -0.30832916f, -0.31064567f, -0.3837282f, 0.3531441f}));
  is("StatelessTruncatedNormal", {five, seed(4)},
     floats({-0.17393383f, 1.6723547f, 0.34817016f, -1.7038907f, 0.63851905f}));
  is("StatelessRandomUniformInt", {five, seed(4), Tensor::scalar(0), Tensor::scalar(100)}, ints({63, 97, 62, 99, 47}));
  is("StatelessMultinomial", {Tensor::of<float>({1, 3}, {0, 1, 2}), Tensor::scalar(6), seed(4)},
     Tensor::of<std::int64_t>({1, 6}, {2, 2, 1, 2, 2, 2}));
  is("StatelessRandomUniformFullInt", {ints({3}), seed(4)},
     Tensor::vector<std::uint64_t>({15563846067247064075u, 4520458231610095266u, 15018079513829641671u}));
  const Tensor key = Tensor::vector<std::uint64_t>({5186321457711525117u});
  const Tensor counter = Tensor::vector<std::uint64_t>({0, 2956673722964415482u});
  check({.op = "StatelessRandomGetKeyCounter", .inputs = {seed(4)}, .expect = {key, counter}});
  check({.op = "StatelessRandomGetKeyCounterAlg", .inputs = {seed(4)}, .expect = {key, counter, Tensor::scalar(1)}});
  check({.op = "StatelessRandomGetAlg", .expect = {Tensor::scalar(1)}});
  for (const std::int32_t alg : {1, 3}) {
    is("StatelessRandomUniformV2", {five, key, counter, Tensor::scalar(alg)}, uniform);
  }
  is("StatelessRandomNormalV2", {five, key, counter, Tensor::scalar(1)},
     floats({-0.17393383f, 1.6723547f, 0.34817016f, -1.7038907f, -0.6153246f}));
  is("StatelessTruncatedNormalV2", {five, key, counter, Tensor::scalar(1)},
     floats({-0.17393383f, 1.6723547f, 0.34817016f, -1.7038907f, 0.63851905f}));
  is("StatelessRandomUniformIntV2", {five, key, counter, Tensor::scalar(1), Tensor::scalar(3), Tensor::scalar(50)},
     ints({20, 21, 34, 28, 4}));
  is("StatelessRandomUniformFullIntV2", {ints({1}), key, counter, Tensor::scalar(1)},
     Tensor::vector<std::uint64_t>({15563846067247064075u}));
  is("StatelessRandomUniformFullInt", {ints({3}), seed(4)}, ints({-1860230133, -671226999, -1390659934}),
     {{"dtype", DType::kInt32}});
}

TEST(RandomOps, BadArguments) {
  const auto fails = [](const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    check({.op = op, .inputs = std::move(inputs), .attrs = attrs, .error = Code::kInvalidArgument});
  };
  fails("RandomUniform", {ints({-1})}, {{"dtype", DType::kFloat32}});
  fails("RandomUniform", {Tensor::scalar(5)}, {{"dtype", DType::kFloat32}});
  fails("RandomUniform", {longs({1LL << 40, 1LL << 40})}, {{"dtype", DType::kFloat32}});
  fails("Multinomial", {floats({1, 2}), Tensor::scalar(1)});
  fails("Multinomial", {Tensor::of<float>({1, 1}, {0}), Tensor::scalar(-1)});
  fails("StatelessRandomUniform", {ints({5}), longs({1, 2, 3})});
  const auto at_run = [](const char* op, std::vector<Tensor> inputs) {
    const auto out = evaluate_op(*builtin_ops().find(op), {}, inputs);
    EXPECT_EQ(out.status().code(), Code::kInvalidArgument) << op;
  };
  at_run("RandomUniformInt", {ints({5}), Tensor::scalar(5), Tensor::scalar(5)});
  at_run("Multinomial", {Tensor::of<float>({2, 0}, {}), Tensor::scalar(5)});
  at_run("StatelessRandomUniformV2",
         {ints({5}), Tensor::vector<std::uint64_t>({1}), Tensor::vector<std::uint64_t>({1, 2}), Tensor::scalar(2)});
}

// One kernel, run after run.
std::vector<Tensor> runs(const char* name, AttrMap attrs, const std::vector<Tensor>& inputs, int times) {
  const OpDef& op = *builtin_ops().find(name);
  std::vector<DType> dtypes;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) {
    dtypes.push_back(t.dtype());
    pointers.push_back(&t);
  }
  EXPECT_TRUE(complete_attrs(op, dtypes, attrs).ok());
  const std::vector<DType> out = arg_dtypes(op.output_args, attrs).value();
  const auto kernel = cpu_kernels().make({.op = op, .attrs = attrs, .node = name}, "cpu").value();
  std::vector<Tensor> results(static_cast<std::size_t>(times));
  for (Tensor& y : results) {
    OutputSlot slot{.tensor = &y};
    KernelContext c({.inputs = pointers.data(),
                     .num_inputs = static_cast<int>(pointers.size()),
                     .outputs = &slot,
                     .num_outputs = 1,
                     .output_dtypes = out.data(),
                     .allocator = &host_allocator()});
    EXPECT_TRUE(kernel->run(c).ok());
  }
  return results;
}

TEST(RandomOps, StateMovesOn) {
  const auto uniform =
      runs("RandomUniform", {{"seed", 87654321}, {"seed2", 1}, {"dtype", DType::kFloat32}}, {ints({1})}, 2);
  EXPECT_FLOAT_EQ(*uniform[0].data<float>(), 0.23903739f);
  EXPECT_FLOAT_EQ(*uniform[1].data<float>(), 0.22267115f);
  const AttrMap seeds = {{"seed", 1}, {"seed2", 2}};
  const Tensor rows = Tensor::of<std::int32_t>({7, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  EXPECT_EQ(difference(runs("RandomShuffle", seeds, {rows}, 2)[1],
                       Tensor::of<std::int32_t>({7, 2}, {12, 13, 4, 5, 0, 1, 2, 3, 6, 7, 8, 9, 10, 11}), 0),
            "");
  EXPECT_EQ(
      difference(runs("Multinomial", seeds, {Tensor::of<float>({2, 3}, {0, 1, 2, 3, 0, 0}), Tensor::scalar(5)}, 2)[1],
                 Tensor::of<std::int64_t>({2, 5}, {2, 1, 1, 1, 2, 0, 0, 0, 0, 0}), 0),
      "");
}

struct ShardedRandomOp {
  const char* name;
  std::vector<Tensor> seed;  // inputs after the shape
  AttrMap attrs;
};
const std::vector<ShardedRandomOp> kShardedRandomOps = {
    {"RandomUniform", {}, {{"seed", 3}, {"seed2", 4}}},
    {"RandomStandardNormal", {}, {{"seed", 3}, {"seed2", 4}}},
    {"TruncatedNormal", {}, {{"seed", 3}, {"seed2", 4}}},
    {"StatelessRandomUniform", {longs({5, 6})}, {}},
    {"StatelessRandomNormal", {longs({5, 6})}, {}},
    {"StatelessTruncatedNormal", {longs({5, 6})}, {}},
    {"StatelessRandomUniformV2",
     {Tensor::vector<std::uint64_t>({1}), Tensor::vector<std::uint64_t>({1, 2}), Tensor::scalar(1)},
     {}},
    {"StatelessRandomNormalV2",
     {Tensor::vector<std::uint64_t>({1}), Tensor::vector<std::uint64_t>({1, 2}), Tensor::scalar(1)},
     {}},
    {"StatelessTruncatedNormalV2",
     {Tensor::vector<std::uint64_t>({1}), Tensor::vector<std::uint64_t>({1, 2}), Tensor::scalar(1)},
     {}}};

// Two runs of each shard, laid one after the other: two runs of the global batch. Rows of 1 to 6 numbers begin anywhere
// in a block of the stream.
TEST(RandomOps, ShardsOfABatchDrawWhatTheBatchDraws) {
  using Ints = std::vector<std::int64_t>;
  for (const ShardedRandomOp& op : kShardedRandomOps) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
      for (const Ints& weights : {Ints{1}, Ints{1, 1}, Ints{3, 1, 2}, Ints{1, 1, 1, 1, 1, 1, 1, 1}}) {
        for (const auto& [batch, rows, width] : {std::array{7, 1, 1}, {7, 2, 3}, {5, 1, 1501}, {2, 3, 2}, {0, 1, 2}}) {
          SCOPED_TRACE(str_cat(op.name, " ", dtype_name(dtype), " ", weights.size(), " shards of ", batch, " by ", rows,
                               " by ", width));
          const auto inputs = [&](std::int64_t examples) {
            std::vector<Tensor> all = op.seed;
            all.insert(all.begin(), longs({examples * rows, width}));
            return all;
          };
          AttrMap attrs = op.attrs;
          attrs.set("dtype", dtype);
          const auto whole = runs(op.name, attrs, inputs(batch), 2);
          attrs.set("weights", weights);
          attrs.set("rows", std::int64_t{rows});
          std::int64_t first = 0;
          for (std::size_t s = 0; s < weights.size(); ++s) {
            const auto mine = shard_batch(batch, weights, static_cast<std::int64_t>(s)).value();
            attrs.set("index", static_cast<std::int64_t>(s));
            std::vector<Tensor> asked = inputs(mine.second - mine.first);
            asked.push_back(Tensor::zeros(DType::kBool, {batch, 2}));
            const auto shard = runs(str_cat("_Shard", op.name).c_str(), attrs, asked, 2);
            for (int run = 0; run < 2; ++run) {
              EXPECT_EQ(difference(shard[run], whole[run].rows(mine.first * rows, mine.second * rows), 0), "") << s;
            }
            first = mine.second;
            if (batch == 7 && s == 1) {
              check({.op = str_cat("_Shard", op.name),
                     .inputs = asked,
                     .attrs = attrs,
                     .expect = {whole[0].rows(mine.first * rows, mine.second * rows)},
                     .tolerance = 3e-6,
                     .other_dtypes = false});
            }
          }
          EXPECT_EQ(first, batch);
        }
      }
    }
  }
}

// The batch repeats twice along the second axis of [3, 2 * batch, 2]: for each of the 6 times a shard has its part.
TEST(RandomOps, ShardsOfARepeatedBatchDrawWhatTheBatchDraws) {
  const std::vector<std::int64_t> weights = {2, 1};
  for (const ShardedRandomOp& op : kShardedRandomOps) {
    const auto inputs = [&](std::int64_t examples) {
      std::vector<Tensor> all = op.seed;
      all.insert(all.begin(), longs({3, examples * 2, 2}));
      return all;
    };
    AttrMap attrs = op.attrs;
    attrs.set("dtype", DType::kFloat32);
    const auto whole = runs(op.name, attrs, inputs(5), 2);
    attrs.set("weights", weights);
    attrs.set("rows", std::int64_t{2});
    attrs.set("repeats", std::int64_t{2});
    attrs.set("axis", std::int64_t{1});
    for (std::int64_t s = 0; s < 2; ++s) {
      const auto mine = shard_batch(5, weights, s).value();
      const std::int64_t examples = mine.second - mine.first;
      attrs.set("index", s);
      std::vector<Tensor> asked = inputs(examples);
      asked.push_back(Tensor::zeros(DType::kBool, {5}));
      const auto shard = runs(str_cat("_Shard", op.name).c_str(), attrs, asked, 2);
      for (int run = 0; run < 2; ++run) {
        for (std::int64_t time = 0; time < 6; ++time) {
          for (std::int64_t i = 0; i < examples * 2; ++i) {
            EXPECT_EQ(shard[run].data<float>()[time * examples * 2 + i],
                      whole[run].data<float>()[time * 10 + mine.first * 2 + i])
                << op.name << " shard " << s << " time " << time;
          }
        }
      }
      for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {  // on a GPU too
        AttrMap there = attrs;
        there.set("dtype", dtype);
        check({.op = str_cat("_Shard", op.name),
               .inputs = asked,
               .attrs = there,
               .expect = runs(str_cat("_Shard", op.name).c_str(), there, asked, 1),
               .tolerance = 3e-6,
               .other_dtypes = false});
      }
    }
  }
}

TEST(RandomOps, ShardsAskForTheirRowsAlone) {
  const AttrMap attrs = {
      {"dtype", DType::kFloat32}, {"weights", std::vector<std::int64_t>{1, 1}}, {"index", 1}, {"rows", 2}};
  const OpDef& op = *builtin_ops().find("_ShardStatelessRandomUniform");
  const Tensor batch = Tensor::zeros(DType::kFloat32, {5});
  const auto of = [&](const Tensor& shape, const Tensor& x) {
    return evaluate_op(op, attrs, {shape, longs({1, 2}), x});
  };
  EXPECT_TRUE(of(longs({4, 3}), batch).ok());
  EXPECT_EQ(of(longs({6, 3}), batch).status().message(),
            "random numbers of shape [6,3] asked for by a shard of 2 examples with 2 rows each");
  EXPECT_FALSE(of(longs({}), batch).ok());
  EXPECT_FALSE(of(longs({4}), Tensor::scalar(1.0f)).ok());
  EXPECT_EQ(of(longs({4}), Tensor::zeros(DType::kBool, {1, 0})).status().code(), Code::kInvalidArgument);
  // The shard's numbers are few enough, the batch's are not.
  AttrMap last = attrs;
  last.set("weights", std::vector<std::int64_t>{1LL << 40, 1});
  last.set("rows", std::int64_t{1} << 62);
  EXPECT_FALSE(evaluate_op(op, last, {longs({0}), longs({1, 2}), batch}).ok());
}

TEST(RandomOps, SeedsAsTensorFlowDerivesThem) {
  using Seeds = std::pair<std::int64_t, std::int64_t>;
  Graph none;
  EXPECT_EQ(op_seeds(none, {}), Seeds(0, 0));
  EXPECT_EQ(op_seeds(none, 42), Seeds(87654321, 42));
  EXPECT_EQ(op_seeds(none, -1), Seeds(87654321, 2147483646));
  Graph seeded;
  set_random_seed(seeded, 7);
  EXPECT_EQ(op_seeds(seeded, {}), Seeds(7, 0));
  EXPECT_EQ(op_seeds(seeded, {}), Seeds(7, 1));
  EXPECT_EQ(op_seeds(seeded, 5), Seeds(7, 5));
  EXPECT_EQ(op_seeds(seeded, {}), Seeds(7, 2));
  Graph zero;
  set_random_seed(zero, 0);
  EXPECT_EQ(op_seeds(zero, {}), Seeds(0, 2147483647));
}

TEST(RandomOps, WithoutSeedsEveryKernelDiffers) {
  const OpDef& op = *builtin_ops().find("RandomUniform");
  const AttrMap attrs = {{"dtype", DType::kFloat32}};
  const auto a = evaluate_op(op, attrs, {ints({8})}), b = evaluate_op(op, attrs, {ints({8})});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(difference((*a)[0], (*b)[0], 1e-6), "");
}

// Moments of many numbers, and the same numbers whatever the number of threads.
TEST(RandomOps, Distributions) {
  struct ExpectedMoments {
    Distribution distribution;
    double mean, variance;
  };
  for (const ExpectedMoments& row :
       {ExpectedMoments{Distribution::kUniform, 0.5, 1.0 / 12}, ExpectedMoments{Distribution::kNormal, 0, 1},
        ExpectedMoments{Distribution::kTruncatedNormal, 0, 0.7737413}}) {
    const Tensor x = Tensor::zeros(DType::kFloat32, {200003});
    ASSERT_TRUE(fill_random(x, row.distribution, Philox(1, 2)).ok());
    double sum = 0, squares = 0;
    for (const float v : x.values<float>()) {
      sum += v;
      squares += double{v} * v;
    }
    const double mean = sum / 200003;
    EXPECT_NEAR(mean, row.mean, 6e-3);
    EXPECT_NEAR(squares / 200003 - mean * mean, row.variance, 8e-3);
    const Tensor plain = Tensor::zeros(DType::kFloat32, {200003});
    ASSERT_TRUE(fill_random(plain, row.distribution, Philox(1, 2), true).ok());
    EXPECT_EQ(difference(x, plain, 3e-6), "");
  }
}

}  // namespace
}  // namespace argosy
