#include "argosy/strategy/sharding/cross_example_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {
namespace {

using testing::HasSubstr;

// Losses are means of what the tests make of the rows of x, and of a weight for each.
struct CrossExampleCheck : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  Value weights = placeholder(g, DType::kFloat32, {-1}, "weights");
  Value w = placeholder(g, DType::kFloat32, {4, 4}, "w");
  Value h = matmul(x, w);

  Result<bool> check(Value v, const std::vector<Endpoint>& global = {}) {
    const Value loss = reduce_mean(square(v));
    EXPECT_TRUE(loss.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node(), weights.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    return check_no_cross_example_ops(g, *axes, {loss.node()}, global);
  }
  std::string refusal(Value v) {
    const Status status = check(v).status();
    EXPECT_EQ(status.id(), "ARG-DP-007");
    return status.message();
  }
  Value along(const char* op, Value v, std::int32_t axis) {
    return g.add(op, {v, op == std::string("ReverseV2") ? constant(g, Tensor::vector<std::int32_t>({axis}))
                                                        : constant(g, axis)});
  }
};

TEST_F(CrossExampleCheck, WhereRowsStayRows) {
  EXPECT_TRUE(check(h).ok());
  EXPECT_TRUE(check(h * reshape(weights, {-1, 1})).ok());
  EXPECT_TRUE(check(h - reduce_mean(h, {1}, true)).ok());  // of an example's own numbers
  EXPECT_TRUE(check(h - reduce_mean(w, {0})).ok());
  EXPECT_TRUE(check(g.add("Softmax", {h})).ok());
  EXPECT_TRUE(check(reshape(h, {-1, 2})).ok());
  EXPECT_TRUE(check(along("Cumsum", h, 1)).ok());
  EXPECT_TRUE(check(along("ReverseV2", h, -1)).ok());
  EXPECT_TRUE(check(matmul(h, h, {.transpose_a = true})).ok());  // a sum of products
}

TEST_F(CrossExampleCheck, NotWhereARowIsComputedWithOthers) {
  const Value mean = reduce_mean(h, {0});
  EXPECT_THAT(refusal(h - mean), HasSubstr("(Sub) computes rows of examples with 'Mean"));
  EXPECT_THAT(refusal(h * (mean + 1.0f)), HasSubstr("which is made of several"));
  EXPECT_THAT(refusal(h / reduce_max(h)), HasSubstr("(RealDiv) computes rows of examples with 'Max"));
  EXPECT_THAT(refusal(h / cast(index(shape(x), {std::int64_t{0}}), DType::kFloat32)), HasSubstr("'Cast"));
  EXPECT_THAT(refusal(h - slice(h, {0, 0}, {1, 4})), HasSubstr("with 'Slice"));
  EXPECT_THAT(refusal(cast(g.add("Greater", {h, mean}), DType::kFloat32) * h), HasSubstr("(Greater) computes rows"));
  // The sum of a global batch is the same for all shards.
  const Value sum = reduce_sum(h);
  EXPECT_EQ(check(h - sum).status().id(), "ARG-DP-007");
  EXPECT_TRUE(check(h - sum, {sum.endpoint()}).ok());
}

TEST_F(CrossExampleCheck, NotWhereAnOpWorksAlongThem) {
  EXPECT_THAT(refusal(along("Cumsum", h, 0)), HasSubstr("(Cumsum) works along the examples of a batch"));
  EXPECT_THAT(refusal(along("ReverseV2", h, -2)), HasSubstr("(ReverseV2) works along"));
  EXPECT_THAT(refusal(g.add("Softmax", {transpose(h)})), HasSubstr("(Softmax) works along"));
  EXPECT_THAT(refusal(g.add("Softmax", {g.add("ExpandDims", {weights, constant(g, 0)})})), HasSubstr("works along"));
  const Value filter = constant(g, Tensor::zeros(DType::kFloat32, {1, 3, 4, 2}));
  const Value row = reshape(h, {1, 1, -1, 4});
  EXPECT_THAT(refusal(g.add("Conv2D", {row, filter},
                            {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}})),
              HasSubstr("(Conv2D) works along"));
}

TEST_F(CrossExampleCheck, NotWhereNobodyHasSaidWhatAnOpDoesWithThem) {
  const Value labels = cast(weights, DType::kInt32);
  EXPECT_THAT(refusal(g.add("ListDiff", {labels, constant(g, Tensor::vector<std::int32_t>({1}))})),
              HasSubstr("(ListDiff) is an op of which it is not known that it treats the examples of a batch apart"));
  EXPECT_THAT(refusal(h * cast(g.add("HistogramFixedWidth",
                                     {weights, constant(g, Tensor::vector<float>({0, 1})), constant(g, 4)}),
                               DType::kFloat32)),
              HasSubstr("(HistogramFixedWidth) is an op of which"));
  EXPECT_TRUE(
      check(h * cast(g.add("HistogramFixedWidth", {w, constant(g, Tensor::vector<float>({0, 1})), constant(g, 4)}),
                     DType::kFloat32))
          .ok());  // of what all shards have
}

TEST_F(CrossExampleCheck, ABranchIsTheGlobalBatchs) {
  const auto branch = [&](Value by) {
    const auto [off, on] = switch_value(h, by);
    return merge({off * 2.0f, on});
  };
  const Value mean = reduce_mean(x), many = greater(index(shape(x), {std::int64_t{0}}), 4);
  EXPECT_THAT(refusal(branch(greater(mean, 0.0f))), HasSubstr("(Switch) branches on 'Greater"));
  EXPECT_THAT(refusal(branch(many)), HasSubstr("(Switch) branches on 'Greater"));
  EXPECT_TRUE(check(branch(greater(mean, 0.0f)), {mean.endpoint()}).ok());
  EXPECT_TRUE(check(branch(greater(reduce_mean(w), 0.0f))).ok());
}

TEST_F(CrossExampleCheck, SizesAreTheGlobalBatchs) {
  const Value count = index(shape(x), {std::int64_t{0}});
  const auto floats = [&](Value v) { return cast(v, DType::kFloat32); };
  for (const char* const op : {"FloorMod", "Minimum", "Maximum", "FloorDiv"}) {
    EXPECT_THAT(refusal(h * floats(g.add(op, {count, constant(g, 3)}))), HasSubstr("computes rows of examples with"))
        << op;
  }
  EXPECT_THAT(refusal(h * index(floats(shape(x)), {std::int64_t{0}})), HasSubstr("computes rows of examples with"));
  const Value remainders = g.add("FloorMod", {cast(weights, DType::kInt32), count});
  EXPECT_THAT(refusal(h * reshape(floats(remainders), {-1, 1})), HasSubstr("(FloorMod) computes"));
  EXPECT_TRUE(check(h * floats(index(shape(x), {std::int64_t{1}}))).ok());
}

TEST_F(CrossExampleCheck, NotWhereExamplesHaveNotEquallyManyRows) {
  EXPECT_THAT(refusal(reshape(h, {-1, 8})), HasSubstr("has not as many rows for every example of a batch"));
  EXPECT_THAT(refusal(concat({h, constant(g, Tensor::zeros(DType::kFloat32, {1, 4}))}, 0)), HasSubstr("(ConcatV2)"));
}

// Keras normalises layers so: examples are channels, of which each has its own statistics.
TEST_F(CrossExampleCheck, StatisticsOfChannelsMayBeAnExamplesOwn) {
  const auto normalised = [&](Value rows, const std::string& format) {
    const Value ones = g.add("Fill", {shape(weights), constant(g, 1.0f)}),
                none = constant(g, Tensor::zeros(DType::kFloat32, {0}));
    const Value scale = format == "NCHW" ? ones : constant(g, Tensor::zeros(DType::kFloat32, {1}));
    return g.add("FusedBatchNormV3", {rows, scale, scale, none, none}, {{"data_format", format}});
  };
  EXPECT_TRUE(check(normalised(reshape(h, {1, -1, 4, 1}), "NCHW")).ok());
  EXPECT_THAT(refusal(normalised(reshape(h, {1, -1, 4, 1}), "NHWC")), HasSubstr("(FusedBatchNormV3) works along"));
  EXPECT_FALSE(*check(normalised(reshape(h, {-1, 4, 1, 1}), "NHWC")));  // a shard's, none of means
}

TEST_F(CrossExampleCheck, ASliceFromTheLastExampleOn) {
  const auto back = [&](std::int32_t rows, std::int32_t columns) {
    const auto two = [&](std::int32_t a, std::int32_t b) { return constant(g, Tensor::vector<std::int32_t>({a, b})); };
    return g.add("StridedSlice", {h, two(0, 0), two(0, 0), two(rows, columns)},
                 {{"begin_mask", std::int64_t{3}}, {"end_mask", std::int64_t{3}}});
  };
  EXPECT_TRUE(check(back(1, -1)).ok());
  EXPECT_THAT(refusal(back(-1, 1)), HasSubstr("(StridedSlice) works along"));
}

TEST_F(CrossExampleCheck, RowsAreTakenByNumbersOfTheShardsOwn) {
  const Value count = index(shape(h), {std::int64_t{0}});
  const Value zero = constant(g, 0), one = constant(g, 1), range = g.add("Range", {zero, count, one});
  const auto taken = [&](Value from, Value by) { return g.add("GatherV2", {from, by, constant(g, 0)}); };
  const Value fed = g.add("FloorMod", {cast(weights, DType::kInt32), constant(g, 4)});
  const auto beside = [&](Value i, Value k) { return g.add("Pack", {i, k}, {{"axis", std::int64_t{1}}}); };
  EXPECT_TRUE(check(taken(h, range)).ok());
  EXPECT_TRUE(check(taken(reshape(h, {-1}), range * constant(g, 4) + fed)).ok());
  EXPECT_TRUE(check(g.add("GatherNd", {h, beside(range, fed)})).ok());
  EXPECT_THAT(refusal(g.add("GatherNd", {h, beside(fed, range)})), HasSubstr("takes rows of the batch by 'Pack"));
  EXPECT_THAT(refusal(taken(reshape(h, {-1}), range)), HasSubstr("takes rows of the batch by 'Range"));
  EXPECT_THAT(refusal(taken(h, range + fed)), HasSubstr("(AddV2) depends on where in the batch"));
  EXPECT_THAT(refusal(taken(w, g.add("FloorMod", {range, constant(g, 4)})) * h),
              HasSubstr("(FloorMod) depends on where"));
  EXPECT_THAT(refusal(taken(w, range) * h), HasSubstr("(GatherV2) depends on where"));
  EXPECT_THAT(refusal(g.add("OneHot", {range, constant(g, 4), constant(g, 1.0f), constant(g, 0.0f)}) * h),
              HasSubstr("(OneHot) depends on where"));
  EXPECT_THAT(refusal(taken(h, count - one - range)), HasSubstr("depends on where in the batch an example lies"));
  EXPECT_THAT(refusal(h * reshape(cast(range, DType::kFloat32), {-1, 1})), HasSubstr("(Cast) depends on where"));
  EXPECT_THAT(refusal(taken(h, cast(weights, DType::kInt32))), HasSubstr("takes rows of the batch by 'Cast"));
  EXPECT_THAT(refusal(g.add("RandomShuffle", {h})), HasSubstr("(RandomShuffle) works along"));
  EXPECT_THAT(refusal(taken(h, g.add("RandomShuffle", {range}))), HasSubstr("(RandomShuffle) works along"));
}

TEST_F(CrossExampleCheck, RowsBehindTheExamplesAreUsedApart) {
  const Value ids = cast(weights, DType::kInt32), drawn = constant(g, Tensor::vector<std::int32_t>({1, 2}));
  const Value all = g.add("GatherV2", {w, concat({ids, drawn}, 0), constant(g, 0)});
  const Value count = index(shape(ids), {std::int64_t{0}}), zero = constant(g, 0), rest = constant(g, -1);
  const auto sliced = [&](Value begin, Value size) {
    return g.add("Slice", {all, g.add("Pack", {begin, zero}), g.add("Pack", {size, rest})});
  };
  const Value first = sliced(zero, count), others = sliced(count, rest);
  EXPECT_TRUE(check(h * first).ok());
  EXPECT_TRUE(check(matmul(h, others, {.transpose_b = true})).ok());
  const Value some = g.add("Slice", {concat({h, w}, 0), constant(g, Tensor::vector<std::int32_t>({1, 0})),
                                     constant(g, Tensor::vector<std::int32_t>({2, 4}))});
  EXPECT_FALSE(check(matmul(h, some, {.transpose_b = true})).ok()) << "examples, not what is behind them";
  EXPECT_THAT(refusal(square(all)), HasSubstr("has not as many rows for every example of a batch"));
}

TEST_F(CrossExampleCheck, OperandsThatRowsMeet) {
  const Value mean = reduce_mean(h, {0}), loss = reduce_mean(square(h - mean));
  const auto axes = BatchAxes::find(g, {x.node(), weights.node()});
  ASSERT_TRUE(axes.ok()) << axes.status().to_string();
  const auto met = [&](const std::vector<Endpoint>& global) {
    return cross_example_operands(g, *axes, {loss.node()}, global);
  };
  const auto alone = met({});
  ASSERT_EQ(alone->size(), 1);
  EXPECT_EQ((*alone)[0].value, mean.endpoint());
  EXPECT_FALSE((*alone)[0].statistic);
  EXPECT_TRUE(met({mean.endpoint()})->empty());
}

// tf.nn.moments and what normalises with it.
TEST_F(CrossExampleCheck, StatisticsForNormalisationAreAShards) {
  const Value mean = reduce_mean(h, {0}, true);
  const Value variance = reduce_mean(g.add("SquaredDifference", {h, g.add("StopGradient", {mean})}), {0}, true);
  const auto means = check((h - mean) * rsqrt(variance + 1e-3f));
  EXPECT_TRUE(means.ok() && *means);
  EXPECT_FALSE(*check(h));
  // The same numbers, and a gradient that reaches the mean: no statistics, a loss of the batch.
  EXPECT_EQ(check(h - reduce_mean(square(h - reduce_mean(h, {0}, true)), {0}, true)).status().id(), "ARG-DP-007");
}

}  // namespace
}  // namespace argosy
