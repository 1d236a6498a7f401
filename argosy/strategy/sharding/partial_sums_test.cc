// Where shards' values are combined, on small graphs.
#include "argosy/strategy/sharding/partial_sums.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/strategy/analysis/dataflow_branches.h"
#include "argosy/strategy/analysis/gradient_seeds.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

struct PartialSumsTest : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  Value words = placeholder(g, DType::kInt32, {-1}, "words");
  Value training = placeholder(g, DType::kBool, {}, "training");

  PartialSums of(Value v, const PartialSumsOptions& options = {}) {
    EXPECT_TRUE(v.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node(), words.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    return find_partial_sums(g, *axes, v.endpoint(), options);
  }
  static std::vector<Endpoint> ends(std::initializer_list<Value> values) {
    std::vector<Endpoint> all;
    for (const Value& v : values) all.push_back(v.endpoint());
    return all;
  }
};

TEST_F(PartialSumsTest, RowsAreFoundBeforeEqualIndicesAreAddedUp) {
  EXPECT_EQ(of(x).rows, ends({x}));
  const Value unique = g.add("Unique", {words});
  const Value sum = g.add("UnsortedSegmentSum", {x, unique.output(1), size(unique)});
  const PartialSums summed = of(sum);
  EXPECT_EQ(summed.rows, ends({x, words}));
  EXPECT_TRUE(summed.sums.empty());
  EXPECT_EQ(summed.recompute.back(), sum.node());
  EXPECT_EQ(of(unique).rows, ends({words}));
  EXPECT_EQ(of(unique.output(1)).rows, ends({words}));
}

// The gradient of what a layer scales by, after it normalised with the mean of its shard.
TEST_F(PartialSumsTest, WhatAShardNormalisesWithIsAConstantToItsGradients) {
  const Value mean = reduce_mean(x, {0});
  const Value seed = g.add("OnesLike", {x});
  const Value sum = reduce_sum(seed * square(x), {0});
  const Value slope = sum * mean - reduce_sum(seed, {0}) * square(mean);
  const Value clipped = slope / sqrt(l2_loss(slope)), more = slope + mean;
  const std::vector<char> gradients = descendants(g, {seed.node()});
  EXPECT_EQ(of(slope, {.sums_only = true, .gradients = gradients}).sums, ends({slope}));
  // Of which values are gradients is not told: each is had of the global batch.
  const PartialSums apart = of(slope, {.sums_only = true});
  EXPECT_EQ(apart.sums.size(), 3u);
  // Clipped, it is no sum any more, whatever it was multiplied with.
  EXPECT_EQ(of(clipped, {.sums_only = true, .gradients = gradients}).sums, ends({slope}));
  // Nor is a number of the shard's own that is added.
  EXPECT_NE(of(more, {.sums_only = true, .gradients = gradients}).sums, ends({more}));
}

TEST_F(PartialSumsTest, OutsideTrainingOnlySumsAndMeansAreAdded) {
  const Value largest = reduce_max(x), mean = reduce_mean(x, {0}), distance = x - mean;
  const Value squares = square(distance), variance = reduce_mean(squares, {0});
  std::vector<char> cross_example(g.size(), 0);
  for (const Value v : {distance, squares, variance}) cross_example[v.node().index] = 1;
  EXPECT_EQ(of(largest).rows, ends({x})) << "its definition does not say that it is a sum";
  EXPECT_EQ(of(largest, {.cross_example = cross_example}).rows, ends({x}));
  EXPECT_EQ(of(mean, {.cross_example = cross_example}).sums, ends({mean}));
  const PartialSums again = of(variance, {.cross_example = cross_example});
  EXPECT_EQ(again.rows, ends({x}));
  EXPECT_EQ(again.sums, ends({mean}));
  EXPECT_EQ(again.recompute.back(), variance.node());
}

TEST_F(PartialSumsTest, ClippedRowsAreThoseBeforeTheirNorm) {
  const Value halved = x * 0.5f;
  const Value norm = l2_loss(x);
  const Value clipped = -(halved / sqrt(norm));
  const PartialSums found = of(clipped);
  EXPECT_EQ(found.rows, ends({halved}));
  EXPECT_EQ(found.sums, ends({norm}));
  // Scaled by something else they are rows like any others.
  const Value scaled = x * reduce_sum(cast(words, DType::kFloat32));
  EXPECT_EQ(of(scaled).rows, ends({scaled}));
}

TEST_F(PartialSumsTest, AddedRowsAreNotTheExamples) {
  const Value more = concat({words, constant(g, Tensor::vector<std::int32_t>({1, 2}))}, 0);
  EXPECT_EQ(of(more).rows, ends({words}));
  EXPECT_EQ(of(more).recompute, std::vector<NodeId>{more.node()});
}

TEST_F(PartialSumsTest, UpdatesGiveWhatAllHave) {
  const VariableNode v = variable(g, Tensor::zeros(DType::kFloat32, {9, 4}), "v");
  const Value slot = g.add("ScatterAdd", {v.ref, words, x});
  const PartialSums found = of(g.add("Identity", {slot}) * 2.0f);
  EXPECT_TRUE(found.rows.empty());
  EXPECT_TRUE(found.sums.empty());
  EXPECT_EQ(found.why, "");
}

TEST_F(PartialSumsTest, BranchesAreSeenThrough) {
  const Value sum = reduce_sum(x, 0);
  const auto [off, on] = switch_value(sum, training);
  const Value zeros = zeros_like(off);
  const Value one = constant(g, Tensor::zeros(DType::kFloat32, {4})), ones = ones_like(one);
  const Value with_zeros = merge({zeros, on}), with_ones = merge({switch_value(ones, training).first, on});
  EXPECT_EQ(of(with_zeros).sums, ends({with_zeros}));
  EXPECT_EQ(of(with_ones).sums, std::vector<Endpoint>());
  EXPECT_NE(of(with_ones).why, "") << "a sum now and then";
  const Value mean = switch_value(reduce_mean(x, 0), training).second;
  const Value averaged = merge({switch_value(ones, training).first, mean});
  EXPECT_EQ(of(averaged, {.averaged = true}).sums, ends({averaged}));
  // An average of sums would be wrong.
  EXPECT_NE(of(with_ones, {.averaged = true}).why, "");

  const auto order = g.topological_order();
  ASSERT_TRUE(order.ok());
  const Branches branches = find_branches(g, *order);
  EXPECT_EQ(branches.of[sum.node().index], 0);
  EXPECT_EQ(branches.of[with_zeros.node().index], 0);
  EXPECT_NE(branches.of[zeros.node().index], 0);
  const Value on_too = on + 1.0f, off_too = off + 1.0f;
  const Branches more = find_branches(g, *g.topological_order());
  EXPECT_EQ(more.of[off_too.node().index], more.of[zeros.node().index]);
  EXPECT_NE(more.of[off_too.node().index], more.of[on_too.node().index]);
  EXPECT_EQ(more.predicates[more.of[on_too.node().index]], ends({training}));
}

TEST_F(PartialSumsTest, LoopsAndStateAreNot) {
  const Value random = g.add("RandomUniform", {shape(reduce_sum(x, 0) * 0.0f)}, {{"dtype", DType::kFloat32}});
  const Value looped = g.add("Enter", {sqrt(reduce_sum(x))}, {{"frame_name", "loop"}});
  EXPECT_NE(of(looped).why.find("control flow"), std::string::npos) << of(looped).why;
  EXPECT_EQ(of(random).why, "") << "only its shape depends on the batch, and that is the same";
}

TEST_F(PartialSumsTest, WhatLoopsAddUpIsASum) {
  const Value rows = g.add("Enter", {x}, {{"frame_name", "loop"}, {"is_constant", true}});
  const Value nothing = constant(g, Tensor::zeros(DType::kFloat32, {4})), one = ones_like(nothing);
  const DataflowLoop sums(g, nothing, [&](Value v) { return v * 0.5f + reduce_sum(rows, 0); });
  const DataflowLoop powers(g, nothing, [&](Value v) { return v * v + reduce_sum(rows, 0); });
  const DataflowLoop offset(g, one, [&](Value v) { return v + reduce_sum(rows, 0); });
  const DataflowLoop means(g, nothing, [&](Value v) { return v + reduce_mean(rows, 0); });
  EXPECT_EQ(of(sums.out).sums, ends({sums.out}));
  EXPECT_NE(of(powers.out).why.find("control flow"), std::string::npos);
  EXPECT_NE(of(offset.out).why.find("control flow"), std::string::npos);
  const auto axes = BatchAxes::find(g, {x.node(), words.node()});
  ASSERT_TRUE(axes.ok());
  const auto kind = [&](const DataflowLoop& loop) { return batch_placement_of(g, *axes, loop.out.endpoint()).kind; };
  EXPECT_EQ(kind(sums), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(means), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(powers), PlacementKind::kUnknown);
  EXPECT_EQ(kind(offset), PlacementKind::kUnknown);
  EXPECT_EQ(find_branches(g, *g.topological_order()).of[sums.out.node().index], 0) << "it always comes out";
}

// Rows that a loop carries, or keeps on a stack for its gradient, are the examples'.
TEST_F(PartialSumsTest, RowsPassThroughLoopsAndStacks) {
  const DataflowLoop states(g, x, [&](Value v) { return tanh(v) * 0.5f; });
  const Value stack = g.add("StackV2", {constant(g, -1)}, {{"elem_type", DType::kFloat32}, {"stack_name", "s"}});
  const Value pushed = g.add("StackPushV2", {stack, states.out});
  const auto after = g.control_dependencies({pushed.control()});
  const Value popped = g.add("StackPopV2", {stack}, {{"elem_type", DType::kFloat32}});
  EXPECT_EQ(of(popped).rows, ends({popped}));
  const auto axes = BatchAxes::find(g, {x.node()});
  ASSERT_TRUE(axes.ok());
  EXPECT_TRUE(axes->is_contiguous_in_batch(states.out.endpoint()));
  EXPECT_TRUE(axes->is_contiguous_in_batch(popped.endpoint()));
}

TEST_F(PartialSumsTest, ArraysHaveWhatIsPutIn) {
  const Value times = constant(g, 3), each = range(g, 3);
  const Value array = g.add("TensorArrayV3", {times}, {{"dtype", DType::kFloat32}});
  const Value all = transpose(reshape(x, {-1, 2, 2}), {1, 0, 2});
  const Value flow = g.add("TensorArrayScatterV3", {array.output(0), range(g, 2), all, array.output(1)});
  const Value one = g.add("TensorArrayReadV3", {array.output(0), constant(g, 1), flow}, {{"dtype", DType::kFloat32}});
  const Value three = g.add("TensorArrayGatherV3", {array.output(0), each, flow}, {{"dtype", DType::kFloat32}});
  const Value size = g.add("TensorArraySizeV3", {array.output(0), flow});
  ASSERT_TRUE(three.valid()) << g.status().to_string();
  const auto axes = BatchAxes::find(g, {x.node()});
  ASSERT_TRUE(axes.ok());
  EXPECT_EQ(axes->axis(one.endpoint()), 0);
  EXPECT_EQ(axes->axis(three.endpoint()), 1);
  EXPECT_TRUE(axes->is_contiguous_in_batch(three.endpoint()));
  EXPECT_FALSE(axes->depends(size.node())) << "that of the array, whatever is in it";
}

TEST(GradientSeeds, IsOfWhatItLooksAtOrOfWhatTakesIt) {
  const auto find_in = [](Graph& g) { return [&g](std::string_view name) { return g.find(name); }; };
  Graph ours;
  const VariableNode w = variable(ours, Tensor::zeros(DType::kFloat32, {3}), "w");
  const Value x = placeholder(ours, DType::kFloat32, {-1, 3});
  const Value loss = reduce_mean(x * w.read), other = reduce_sum(x * w.read);
  const Value slope = gradients(ours, {loss}, {w.ref})[0];
  EXPECT_EQ(find_losses(ours, {slope.node()}, find_in(ours)), std::vector<Endpoint>{loss.endpoint()});
  EXPECT_TRUE(find_losses(ours, {loss.node()}, find_in(ours)).empty());
  const Value both = slope + gradients(ours, {other}, {w.ref})[0];
  EXPECT_EQ(find_losses(ours, {both.node()}, find_in(ours)).size(), 2u);
}

// As tf.gradients names things; "my_grad/loss" has the mark in its own name.
TEST(GradientSeeds, IsTheFillThatTensorFlowStartsAt) {
  for (const bool one : {false, true}) {  // TensorFlow 1's names, or 2's
    Graph g;
    const Value y = placeholder(g, DType::kFloat32, {-1}, "y");
    Value mean, ones;
    {
      const auto scope = g.name_scope("my_grad");
      mean = g.add("Mean", {y, constant(g, std::int32_t{0})}, {}, "loss");
    }
    const auto scope = g.name_scope("train");
    {
      const auto gradients = g.name_scope("gradients");
      ones = constant(g, Tensor::scalar(1.0f), one ? "grad_ys_0" : "grad_ys_0/Const");
    }
    const Value seed = g.add("Fill", {constant(g, Tensor::zeros(DType::kInt32, {0})), ones}, {},
                             one ? "gradients/Fill" : "gradients/grad_ys_0");
    const Value grad = g.add("Neg", {seed}, {}, "gradients/my_grad/loss_grad/Reshape");
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    const auto find = [&g](std::string_view name) { return g.find(name); };
    EXPECT_EQ(find_losses(g, {grad.node()}, find), std::vector<Endpoint>{mean.endpoint()}) << one;
    EXPECT_EQ(gradient_seeds(g, mean.endpoint()), std::vector<NodeId>{seed.node()}) << one;
  }
}

}  // namespace
}  // namespace argosy
