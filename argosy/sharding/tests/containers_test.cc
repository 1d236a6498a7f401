// What stacks, arrays and lists hold: the first shard that is put in decides.
#include <gtest/gtest.h>

#include "argosy/op/definition/stored_element.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/tensor_array/tensor_array.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/tests/training_trial_test.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

// On three devices. Layouts that verify().
Result<Assignment> solve_for(const Graph& g, const Value& batch) {
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, Sizes::find(g, {.batch = {batch.node()}}));
  ARGOSY_ASSIGN_OR_RETURN(const RuleTable rules, RuleTable::make(g, sizes));
  const Mesh mesh{.axes = {{.name = "data", .size = 3}}, .devices = {"a", "b", "c"}};
  ARGOSY_ASSIGN_OR_RETURN(Assignment a, resolve(g, sizes, rules, mesh, {.seeds = shard_feeds({batch.node()}, 0)}));
  ARGOSY_RETURN_IF_ERROR(verify(g, sizes, rules, mesh, a));
  return a;
}

class ShardingContainers : public testing::Test {
 protected:
  Value number(int n) { return constant(g_, std::int32_t{n}); }

  Graph g_;
  Value x_ = placeholder(g_, DType::kFloat32, {-1, 4}, "x");
};

TEST_F(ShardingContainers, ArraysHoldShards) {
  const TensorArrayValue made = tensor_array(number(2), DType::kFloat32, {}, "rows");
  // Zeros come first: they are sliced, once a shard is put in.
  const TensorArrayValue zeros = tensor_array_write(made, number(0), zeros_like(x_) * 0.0f);
  const TensorArrayValue both = tensor_array_write(zeros, number(1), tanh(x_));
  const Value read = tensor_array_read(both, number(1));
  const Value all = tensor_array_gather(both, constant(g_, Tensor::vector<std::int32_t>({0, 1})));
  const auto a = solve_for(g_, x_);
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  EXPECT_EQ(to_string(a->layout(made.handle.endpoint())), "S(0)");
  EXPECT_EQ(to_string(a->layout(both.flow.endpoint())), "R");
  EXPECT_EQ(to_string(a->layout(read.endpoint())), "S(0)");
  EXPECT_EQ(to_string(a->layout(all.endpoint())), "S(1)");
  EXPECT_EQ(a->shardings[made.handle.node().index][0].kind, NodeSharding::Kind::kMakes);
  for (const Reshard& r : a->reshards) EXPECT_NE(r.value, both.flow.endpoint());
}

TEST_F(ShardingContainers, StacksGiveBackWhatWasPushed) {
  const Value stack = g_.add("StackV2", {number(-1)}, {{"elem_type", DType::kFloat32}});
  const Value pushed = g_.add("StackPushV2", {stack, x_ * 2.0f});
  Value popped;
  {
    const auto after = g_.control_dependencies({pushed});
    popped = g_.add("StackPopV2", {stack}, {{"elem_type", DType::kFloat32}});
  }
  const auto a = solve_for(g_, x_);
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  EXPECT_EQ(to_string(a->layout(pushed.endpoint())), "S(0)");
  EXPECT_EQ(to_string(a->layout(popped.endpoint())), "S(0)");
  EXPECT_TRUE(a->reshards.empty());
}

// Elements are put together along the dimension that would be sharded.
TEST_F(ShardingContainers, WhatAUserCannotTakeInShardsIsHeldWhole) {
  const TensorArrayValue made = tensor_array(number(1), DType::kFloat32, {}, "rows");
  const TensorArrayValue full = tensor_array_write(made, number(0), tanh(x_));
  const Value joined = g_.add("TensorArrayConcatV3", {full.handle, full.flow},
                              {{"dtype", DType::kFloat32}, {"element_shape_except0", PartialShape{4}}});
  const auto a = solve_for(g_, x_);
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  EXPECT_EQ(to_string(a->layout(made.handle.endpoint())), "R");
  EXPECT_EQ(to_string(a->layout(joined.endpoint())), "R");
  ASSERT_EQ(a->reshards.size(), 1u);
  EXPECT_EQ(to_string(a->reshards[0].from) + " > " + to_string(a->reshards[0].to), "S(0) > R");
}

// --- lists

// What every op on lists gives, on virtual devices and in the graph for emulated ones.
class ShardingLists : public testing::Test {
 protected:
  ShardingLists() { t_.feeds = {x_}; }
  Value ints(std::vector<std::int32_t> of) { return constant(g_, Tensor::vector(of)); }
  Value open_shape() { return ints({-1, 4}); }
  static AttrMap dtype() { return {{"element_dtype", DType::kFloat64}}; }
  static AttrMap made() { return {{"element_dtype", DType::kFloat64}, {"shape_type", DType::kInt32}}; }
  Value empty(Value shape) { return g_.add("EmptyTensorList", {shape, constant(g_, -1)}, made()); }
  Value empty() { return empty(open_shape()); }
  Value push(Value list, Value x) { return g_.add("TensorListPushBack", {list, x}, dtype()); }
  Value get(Value list, int i) { return g_.add("TensorListGetItem", {list, constant(g_, i), open_shape()}, dtype()); }
  Value stack(Value list) {
    return g_.add("TensorListStack", {list, open_shape()},
                  {{"element_dtype", DType::kFloat64}, {"num_elements", std::int64_t{-1}}});
  }
  Value from_rows(Value rows) { return g_.add("TensorListFromTensor", {rows, open_shape()}, made()); }
  // Two rows of values along a new first axis.
  Value two(Value a, Value b) { return g_.add("Pack", {a, b}, {{"axis", std::int64_t{0}}}); }

  // The layouts of these values, as text, on three devices; what a step gives equals one device's on 2, 3 and 4.
  std::string layouts(const std::vector<Value>& of, const std::vector<Value>& fetched) {
    t_.fetches = fetched;
    EXPECT_TRUE(g_.status().ok()) << g_.status().to_string();
    for (const int devices : {2, 3, 4}) {
      const TrialOptions options{.axis = {.name = "data", .size = devices}, .batches = {8, 7, 4, 3}};
      const TrialResult virtually = run_trial(t_, options);
      EXPECT_EQ(virtually.wrong, "") << devices << " devices";
      EXPECT_GT(virtually.compared, 0);
      EXPECT_EQ(run_lowered(t_, options), "") << devices << " devices";
    }
    const auto a = solve_for(g_, x_);
    EXPECT_TRUE(a.ok()) << a.status().to_string();
    std::string text;
    for (const Value& v : of) text += (text.empty() ? "" : " ") + (a.ok() ? to_string(a->layout(v.endpoint())) : "?");
    return text;
  }

  TrainingTrial t_;
  Graph& g_ = t_.graph;
  Value x_ = placeholder(g_, DType::kFloat64, {-1, 4}, "x");
};

TEST_F(ShardingLists, GrowAndShrinkInShards) {
  const Value list = push(push(empty(), tanh(x_)), x_ * 2.0);
  const Value popped = g_.add("TensorListPopBack", {list, constant(g_, -1)}, dtype());
  const Value again = g_.add("TensorListPopBack", {popped.output(0), open_shape()}, dtype());
  EXPECT_EQ(layouts({list, popped.output(0), popped.output(1), again.output(1)}, {popped.output(1), again.output(1)}),
            "S(0) S(0) S(0) S(0)");
}

TEST_F(ShardingLists, AreSetReadAndStacked) {
  const Value zeros = g_.add("TensorListReserve", {open_shape(), constant(g_, 2)}, made());
  const Value one = g_.add("TensorListSetItem", {zeros, constant(g_, 1), tanh(x_)}, dtype());
  const Value both = g_.add("TensorListSetItem", {one, constant(g_, 0), x_ * 3.0}, dtype());
  const Value rows = stack(both), picked = g_.add("TensorListGather", {both, ints({1, 0, 1}), open_shape()}, dtype());
  const Value length = g_.add("TensorListLength", {both});
  const Value shape = g_.add("TensorListElementShape", {both}, {{"shape_type", DType::kInt32}});
  EXPECT_EQ(layouts({both, rows, picked, length, shape}, {get(both, 0), get(both, 1), rows, picked, length, shape}),
            "S(0) S(1) S(1) R R");
}

TEST_F(ShardingLists, AreMadeOfRows) {
  const Value list = from_rows(two(tanh(x_), x_ + 1.0));
  const Value longer = g_.add("TensorListResize", {list, constant(g_, 3)});
  const Value filled = g_.add("TensorListSetItem", {longer, constant(g_, 2), x_ * x_}, dtype());
  const Value scattered =
      g_.add("TensorListScatterV2", {two(x_, tanh(x_)), ints({1, 0}), open_shape(), constant(g_, -1)}, made());
  const Value mixed = g_.add("TensorListScatterIntoExistingList", {filled, two(x_, x_ * 5.0), ints({0, 2})}, dtype());
  EXPECT_EQ(layouts({list, filled, scattered, mixed},
                    {get(list, 1), stack(filled), stack(scattered), stack(mixed), get(filled, 2)}),
            "S(0) S(0) S(0) S(0)");
}

// Elements of 3 and 1 rows of the transposed batch: examples lie along the second dimension.
TEST_F(ShardingLists, AreJoinedAndSplitAcrossExamples) {
  const Value columns = transpose(x_, {1, 0});
  const Value lengths = constant(g_, Tensor::vector<std::int64_t>({3, 1}));
  const Value list = g_.add("TensorListSplit", {columns, ints({-1, -1}), lengths}, made());
  const Value joined =
      g_.add("TensorListConcatV2", {list, ints({-1, -1}), constant(g_, Tensor::vector<std::int64_t>({}))}, made());
  EXPECT_EQ(layouts({list, joined.output(0)}, {joined.output(0), joined.output(1)}), "S(1) S(1)");
}

// Said to have the sizes of the global batch: shards leave them open.
TEST_F(ShardingLists, AreToldTheSizesOfTheGlobalBatch) {
  const Value list = push(empty(shape(x_)), tanh(x_));
  const Value popped = g_.add("TensorListPopBack", {list, shape(x_)}, dtype());
  EXPECT_EQ(layouts({list, popped.output(1)}, {popped.output(1)}), "S(0) S(0)");
}

TEST_F(ShardingLists, OfGradientsAddUp) {
  const Value list = push(push(empty(), tanh(x_)), x_ * 2.0);
  const Value zeros = g_.add("ZerosLike", {list});
  const Value sum = g_.add("AddN", {list, zeros, list});
  EXPECT_EQ(layouts({zeros, sum}, {get(sum, 0), get(sum, 1), stack(zeros)}), "S(0) S(0)");
}

// Elements are joined along the dimension that would be sharded.
TEST_F(ShardingLists, WhatAUserCannotTakeInShardsIsHeldWhole) {
  const Value list = from_rows(two(tanh(x_), x_ + 1.0));
  const Value joined =
      g_.add("TensorListConcatV2", {list, open_shape(), constant(g_, Tensor::vector<std::int64_t>({}))}, made());
  EXPECT_EQ(layouts({list, joined.output(0)}, {joined.output(0), joined.output(1)}), "R R");
}

// As TensorFlow 2 writes a loop: the loop carries the list.
TEST_F(ShardingLists, AreCarriedByLoops) {
  const Value start = empty();
  const DataflowLoop up(
      g_, start, [&](Value list) { return push(list, DataflowLoop::enter(g_, tanh(x_), "up")); }, "up");
  const Value all = stack(up.out);
  EXPECT_EQ(layouts({start, up.inside, up.out, all}, {all, get(up.out, 2)}), "S(0) S(0) S(0) S(1)");
}

// No shard is ever put in, and the loop carries the list before anything else.
TEST_F(ShardingLists, OfWholeValuesAreCarriedByLoops) {
  const Value start = empty(ints({}));
  const DataflowLoop up(
      g_, start, [&](Value list) { return push(list, DataflowLoop::enter(g_, reduce_mean(x_), "up")); }, "up");
  const Value all = g_.add("TensorListStack", {up.out, ints({})},
                           {{"element_dtype", DType::kFloat64}, {"num_elements", std::int64_t{-1}}});
  EXPECT_EQ(layouts({start, up.out, all}, {all}), "R R R");
}

// What is known of elements holds of all of them.
TEST_F(ShardingLists, SizesFollowTheBatch) {
  const Value list = push(push(empty(), tanh(x_)), x_);
  const Value popped = g_.add("TensorListPopBack", {list, constant(g_, -1)}, dtype()).output(1);
  const Value mixed = push(push(empty(ints({-1, -1})), x_), constant(g_, Tensor::zeros(DType::kFloat64, {1, 4})));
  const Value any = g_.add("TensorListPopBack", {mixed, constant(g_, -1)}, dtype()).output(1);
  const AttrMap of_ints = {{"element_dtype", DType::kInt32}, {"shape_type", DType::kInt32}};
  const auto pop_ints = [&](Value sizes) {
    return g_.add("TensorListPopBack", {sizes, constant(g_, -1)}, {{"element_dtype", DType::kInt32}}).output(1);
  };
  const auto push_ints = [&](Value sizes) {
    return g_.add("TensorListPushBack", {sizes, shape(x_)}, {{"element_dtype", DType::kInt32}});
  };
  const Value grown = pop_ints(push_ints(g_.add("EmptyTensorList", {constant(g_, -1), constant(g_, -1)}, of_ints)));
  const Value gaps = pop_ints(push_ints(g_.add("TensorListReserve", {ints({2}), constant(g_, 1)}, of_ints)));
  // One of two lists, of which the other one holds longer elements.
  const Value sides = g_.add("Switch", {x_, greater(reduce_sum(x_), 0.0)});
  const Value merged =
      g_.add("Merge", {push(empty(), sides.output(0)), push(empty(), concat({sides.output(1), x_}, 0))});
  const Value either = g_.add("TensorListPopBack", {merged, constant(g_, -1)}, dtype()).output(1);
  ASSERT_TRUE(g_.status().ok()) << g_.status().to_string();
  const auto sizes = Sizes::find(g_, {.batch = {x_.node()}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(popped.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(any.endpoint(), 0), std::nullopt);
  EXPECT_EQ(sizes->dim(any.endpoint(), 1), (AffineSize{0, 4}));
  EXPECT_EQ(sizes->dim(either.endpoint(), 0), std::nullopt);
  EXPECT_EQ(sizes->dim(either.endpoint(), 1), (AffineSize{0, 4}));
  EXPECT_EQ(sizes->element(grown.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->element(gaps.endpoint(), 0), std::nullopt);
}

TEST_F(ShardingContainers, RulesSayWhatIsPutIn) {
  const auto stored = [&](const char* op) { return stored_element(*g_.ops().find(op)); };
  ASSERT_TRUE(stored("TensorArrayScatterV3").has_value());
  EXPECT_EQ(stored("TensorArrayScatterV3")->input, 2);
  EXPECT_EQ(stored("TensorArrayScatterV3")->leading, 1);
  ASSERT_TRUE(stored("StackPushV2").has_value());
  EXPECT_EQ(stored("StackPushV2")->input, 1);
  EXPECT_EQ(stored("StackPushV2")->leading, 0);
  ASSERT_TRUE(stored("TensorListSetItem").has_value());
  EXPECT_EQ(stored("TensorListSetItem")->input, 2);
  ASSERT_TRUE(stored("TensorListScatterIntoExistingList").has_value());
  EXPECT_EQ(stored("TensorListScatterIntoExistingList")->leading, 1);
  for (const char* op : {"TensorListPopBack", "TensorListFromTensor", "StackPopV2", "TensorArrayReadV3",
                         "TensorArraySizeV3", "AssignVariableOp", "MatMul"}) {
    EXPECT_FALSE(stored(op).has_value()) << op;
  }
}

}  // namespace
}  // namespace argosy
