// What stacks and arrays hold: the first shard that is put in decides.
#include <gtest/gtest.h>

#include "argosy/op/definition/stored_element.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/tensor_array/tensor_array.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"

namespace argosy {
namespace {

class ShardingContainers : public testing::Test {
 protected:
  // On three devices. Layouts that verify().
  Result<Assignment> solve() {
    ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, Sizes::find(g_, {.batch = {x_.node()}}));
    ARGOSY_ASSIGN_OR_RETURN(const RuleTable rules, RuleTable::make(g_, sizes));
    const Mesh mesh{.axes = {{.name = "data", .size = 3}}, .devices = {"a", "b", "c"}};
    ARGOSY_ASSIGN_OR_RETURN(Assignment a, resolve(g_, sizes, rules, mesh, {.seeds = shard_feeds({x_.node()}, 0)}));
    ARGOSY_RETURN_IF_ERROR(verify(g_, sizes, rules, mesh, a));
    return a;
  }
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
  const auto a = solve();
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  EXPECT_EQ(to_string(a->layout(made.handle.endpoint())), "S(0)");
  EXPECT_EQ(to_string(a->layout(both.flow.endpoint())), "R");
  EXPECT_EQ(to_string(a->layout(read.endpoint())), "S(0)");
  EXPECT_EQ(to_string(a->layout(all.endpoint())), "S(1)");
  EXPECT_EQ(a->ways[made.handle.node().index][0].kind, Way::Kind::kMakes);
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
  const auto a = solve();
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
  const auto a = solve();
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  EXPECT_EQ(to_string(a->layout(made.handle.endpoint())), "R");
  EXPECT_EQ(to_string(a->layout(joined.endpoint())), "R");
  ASSERT_EQ(a->reshards.size(), 1u);
  EXPECT_EQ(to_string(a->reshards[0].from) + " > " + to_string(a->reshards[0].to), "S(0) > R");
}

TEST_F(ShardingContainers, RulesSayWhatIsPutIn) {
  const auto stored = [&](const char* op) { return stored_element(*g_.ops().find(op)); };
  ASSERT_TRUE(stored("TensorArrayScatterV3").has_value());
  EXPECT_EQ(stored("TensorArrayScatterV3")->input, 2);
  EXPECT_EQ(stored("TensorArrayScatterV3")->leading, 1);
  ASSERT_TRUE(stored("StackPushV2").has_value());
  EXPECT_EQ(stored("StackPushV2")->input, 1);
  EXPECT_EQ(stored("StackPushV2")->leading, 0);
  for (const char* op : {"StackPopV2", "TensorArrayReadV3", "TensorArraySizeV3", "AssignVariableOp", "MatMul"}) {
    EXPECT_FALSE(stored(op).has_value()) << op;
  }
}

}  // namespace
}  // namespace argosy
