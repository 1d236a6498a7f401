// Graphs written for one size of batch, as Python writes them, and what they compute with another.
#include "argosy/strategy/batch_size/dynamic_batch.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/strategy/analysis/batch_axis.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

constexpr std::int64_t kBatch = 6;

struct DynamicBatchTest : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {kBatch, 4}, "x");
  std::vector<NodeId> inputs{x.node()};

  Value floats(std::int64_t rows, std::int64_t columns, bool alike) {
    Tensor t = Tensor::zeros(DType::kFloat32, {rows, columns});
    for (std::size_t i = 0; !alike && i < t.values<float>().size(); ++i) t.values<float>()[i] = static_cast<float>(i);
    return constant(g, t);
  }
  Value sizes(const std::vector<std::int32_t>& values) { return constant(g, Tensor::vector(values)); }
  Status open(Value v) { return make_batch_dynamic(g, inputs, {v.node()}, {v.node()}); }
  // Of the batch's axis: as many rows as the batch, for each so many.
  std::int64_t rows_of(Value v) {
    const auto axes = BatchAxes::find(g, inputs);
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    return axes.ok() && axes->axis(v.endpoint()) == 0 ? axes->rows_per_example(v.endpoint()) : 0;
  }
  // v follows the batch with so many rows for each example.
  void expect_rows(Value v, std::int64_t each) {
    ASSERT_TRUE(v.valid()) << g.status().to_string();
    const Status status = open(v);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(v.shape()[0], -1);
    EXPECT_EQ(rows_of(v), each);
  }
  void expect_refused(Value v, std::string_view node, std::string_view why) {
    ASSERT_TRUE(v.valid()) << g.status().to_string();
    const Status status = open(v);
    EXPECT_EQ(status.id(), "ARG-DP-010") << status.to_string();
    EXPECT_NE(status.message().find(node), std::string::npos) << status.to_string();
    EXPECT_NE(status.message().find(why), std::string::npos) << status.to_string();
  }
};

TEST_F(DynamicBatchTest, OpenBatchesAreLeftAlone) {
  Graph other;
  const Value y = placeholder(other, DType::kFloat32, {-1, 4});
  std::vector<NodeId> open{y.node()};
  const int size = other.size();
  EXPECT_TRUE(make_batch_dynamic(other, open, {y.node()}, {}).ok());
  EXPECT_EQ(other.size(), size);
}

TEST_F(DynamicBatchTest, ShapesWrittenDownFollow) {
  expect_rows(reshape(reshape(x, {kBatch * 2, 2}), {kBatch, 2, 2}), 1);
}

// As the gradient of Pad takes what lay inside.
TEST_F(DynamicBatchTest, SlicesOfAllRowsFollowWhereverTheyBeginElsewhere) {
  const Value paddings = constant(g, Tensor::of<std::int32_t>({2, 2}, {0, 0, 1, 1}));
  const Value begin = reshape(slice(paddings, {0, 0}, {2, 1}), {-1});
  ASSERT_EQ(g.known_ints(begin.endpoint()), nullptr);
  expect_rows(slice(pad(x, {{0, 0}, {1, 1}}), begin, sizes({kBatch, 4})), 1);
}

TEST_F(DynamicBatchTest, SoDoThoseWithAnOpenSizeElsewhere) { expect_rows(reshape(x, {kBatch, -1, 2}), 1); }

// As many features as examples: only the axis of the examples grows.
TEST_F(DynamicBatchTest, EqualSizesAreToldApartByTheirPlace) {
  const Value wide = matmul(x, floats(4, kBatch * kBatch, true));
  const Value square = reshape(wide, {kBatch, kBatch, kBatch});
  expect_rows(square, 1);
  EXPECT_EQ(square.shape(), (PartialShape{-1, kBatch, kBatch}));
}

TEST_F(DynamicBatchTest, ExamplesThatGoByEveryTimeStayApart) {
  const Value steps = transpose(reshape(x, {kBatch, 2, 2}), {1, 0, 2});
  const Value flat = reshape(steps, {2 * kBatch, 2});
  const Value again = reshape(flat, {2, kBatch, 2});
  ASSERT_TRUE(open(again).ok());
  const auto axes = BatchAxes::find(g, inputs);
  ASSERT_TRUE(axes.ok());
  EXPECT_EQ(axes->repeats(flat.endpoint()), 2);
  EXPECT_FALSE(axes->is_contiguous_in_batch(flat.endpoint()));
  EXPECT_EQ(axes->axis(again.endpoint()), 1);
  EXPECT_EQ(axes->repeats(again.endpoint()), 1);
}

TEST_F(DynamicBatchTest, FirstStatesFollowWhatTheyMeet) {
  const Value state = g.add("Fill", {sizes({kBatch, 3}), constant(g, 0.f)});
  expect_rows(concat({x, tanh(state)}, 1), 1);
}

TEST_F(DynamicBatchTest, EqualElementsFollow) { expect_rows(x * floats(kBatch, 1, true), 1); }

// A vector chooses between rows.
TEST_F(DynamicBatchTest, BothBranchesOfAChoiceFollow) {
  const Value chooses = greater(reduce_sum(x, {1}), constant(g, 0.f));
  const Value zeros = floats(kBatch, 3, true), ones = g.add("Fill", {sizes({kBatch, 3}), constant(g, 1.f)});
  expect_rows(g.add("Select", {chooses, zeros, ones}), 1);
}

TEST_F(DynamicBatchTest, WhatWasDrawnFollows) {
  const Value drawn = g.add("RandomUniform", {sizes({kBatch, 4})}, {{"dtype", DType::kFloat32}});
  expect_rows(x * cast(greater(drawn, constant(g, 0.5f)), DType::kFloat32), 1);
}

TEST_F(DynamicBatchTest, OtherConstantsAreShardedAsFeedsAre) {
  expect_rows(x - floats(kBatch, 4, false), 1);
  EXPECT_EQ(inputs.size(), 2u);
}

TEST_F(DynamicBatchTest, AllRowsOfASliceAreAll) {
  expect_rows(slice(x, {0, 1}, {kBatch, 2}) + index(x, {Slice{0, kBatch}, Slice{0, 2}}), 1);
}

// A state that starts as zeros, shapes and noise inside of the loop, a stack for its gradient.
TEST_F(DynamicBatchTest, LoopsFollow) {
  const AttrMap fixed = {{"frame_name", "loop"}, {"is_constant", true}};
  const Value rows = g.add("Enter", {x}, fixed);
  const Value stack = g.add("StackV2", {constant(g, -1)}, {{"elem_type", DType::kFloat32}, {"stack_name", "s"}});
  const Value handle = g.add("Enter", {stack}, fixed);
  Value noisy, pushed;
  const DataflowLoop loop(g, g.add("Fill", {sizes({kBatch, 4}), constant(g, 0.f)}), [&](Value state) {
    const auto inside = g.control_dependencies({state});
    const Value next = tanh(rows + state);
    const Value drawn = g.add("RandomUniform", {sizes({kBatch, 4})}, {{"dtype", DType::kFloat32}});
    noisy = next * drawn;
    pushed = g.add("StackPushV2", {handle, noisy});
    return reshape(noisy, sizes({kBatch, 4}));
  });
  Value popped;
  {
    const auto after = g.control_dependencies({loop.out});
    popped = g.add("StackPopV2", {stack}, {{"elem_type", DType::kFloat32}});
  }
  const Value kept = popped + loop.out;
  ASSERT_TRUE(kept.valid()) << g.status().to_string();
  const Status status = make_batch_dynamic(g, inputs, {kept.node(), pushed.node()}, {});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(inputs.size(), 1u);
  for (const Value& v : {loop.out, noisy, popped, kept}) EXPECT_EQ(rows_of(v), 1) << v.name();
  // What was put into the loop waits for something in it: without, it would be outside.
  int waiting = 0;
  for (const Node& n : g.nodes()) {
    if (n.op->name == "Const" && std::string(n.name).starts_with("Reshape/dynamic_batch")) {
      waiting += static_cast<int>(n.controls.size());
    }
  }
  EXPECT_EQ(waiting, 1);
}

// tf.gradients writes down the shape of what was summed, and how many were averaged.
TEST_F(DynamicBatchTest, GradientsOfMeansFollow) {
  Value mean, divided;
  {
    const auto root = g.name_scope("loss");
    mean = g.add("Mean", {x, sizes({0, 1})}, {}, "Mean");
  }
  {
    const auto root = g.name_scope("gradients/loss/Mean_grad");
    const Value seed = constant(g, Tensor::of<float>({1, 1}, {1}), "seed");
    divided = g.add("RealDiv", {tile(seed, {kBatch, 4}), constant(g, kBatch * 4.f)}, {}, "truediv");
  }
  const Value update = divided * x + mean;
  expect_rows(update, 1);
  EXPECT_EQ(rows_of(divided), 1);
  const Node& n = g.node(divided.node());
  const auto axes = BatchAxes::find(g, inputs);
  ASSERT_TRUE(axes.ok());
  EXPECT_EQ(g.node(n.inputs[1].node).op->name, "Cast");
  EXPECT_TRUE(axes->scales_with_batch(g.node(n.inputs[1].node).inputs[0])) << "24 of 6 examples";
}

TEST_F(DynamicBatchTest, SoDoThoseOfOurOwnGradients) {
  const VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {4, 1}), "w");
  const Value loss = reduce_mean(square(matmul(x, w.read)));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  ASSERT_TRUE(make_batch_dynamic(g, inputs, {slope.node(), loss.node()}, {loss.node()}).ok());
  int counted = 0;
  for (const Node& n : g.nodes()) {
    if (n.op->name == "RealDiv") counted += g.node(n.inputs[1].node).op->name == "Cast" ? 1 : -1;
  }
  EXPECT_EQ(counted, 1);
}

TEST_F(DynamicBatchTest, AMeanWhoseGradientIsNotFoundIsRefused) {
  const VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {4, 1}), "w");
  expect_refused(reduce_mean(matmul(x, w.read)), "'Mean' (Mean)", "has a gradient that cannot be found");
  const Value stopped = square(stop_gradient(reduce_mean(matmul(x, w.read))));
  EXPECT_TRUE(open(stopped).ok()) << "it has none";
}

TEST_F(DynamicBatchTest, NumbersOfRowsAreRefused) {
  const Value numbers = range(g, kBatch);
  expect_refused(stack({cast(reduce_sum(x, {1}), DType::kInt32), numbers}, 1), "Pack", "meets 'Range'");
}

TEST_F(DynamicBatchTest, AVariableForEveryExampleIsRefused) {
  const VariableNode v = variable(g, Tensor::zeros(DType::kFloat32, {kBatch, 4}), "state");
  expect_refused(x + v.read, "AddV2", "meets 'state'");
}

TEST_F(DynamicBatchTest, ExamplesOneByOneAreRefused) {
  const std::vector<Value> rows = unstack(x, kBatch);
  expect_refused(rows[0] + rows[1], "Unpack", "does not take another size");
}

TEST_F(DynamicBatchTest, ExamplesMixedByTheirShapeAreRefused) {
  expect_refused(reshape(x, {4, kBatch}), "Reshape", "does not take another size");
}

TEST_F(DynamicBatchTest, InputsOfTwoSizesAreRefused) {
  const Value y = placeholder(g, DType::kFloat32, {kBatch + 1}, "y");
  inputs.push_back(y.node());
  EXPECT_EQ(open(x).id(), "ARG-DP-010");
}

}  // namespace
}  // namespace argosy
