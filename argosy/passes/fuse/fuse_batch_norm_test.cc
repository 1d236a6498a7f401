#include "argosy/passes/fuse/fuse_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "argosy/graph/gradients.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/optimize.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

Tensor numbers(const Shape& shape, std::uint64_t state) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape);
  for (float& x : t.values<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(state >> 40) * 0x1p-23f - 1;
  }
  return t;
}

constexpr std::int64_t kChannels = 19;  // vectors of every width, and a rest

struct Net {
  Graph graph;
  std::map<std::string, Tensor> feeds;

  Value fed(const std::string& name, const Shape& shape) {
    feeds[name] = numbers(shape, feeds.size() + 1);
    return graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape(shape)}}, name);
  }
  Value image(const std::string& name) { return fed(name, {3, 5, 4, kChannels}); }
  BatchNorm norm(Value x, const std::string& name, BatchNormOptions options = {}) {
    return fused_batch_norm(x, fed(name + "/scale", {kChannels}), fed(name + "/offset", {kChannels}), options);
  }
  StepGraph step(const std::vector<Value>& fetches) const {
    EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
    StepSignature signature;
    for (const Value& v : fetches) signature.fetches.push_back(v.endpoint());
    auto made = prune_step(graph, signature);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }
  std::vector<Tensor> run(const StepGraph& step) const {
    std::unordered_map<Endpoint, Tensor> given;
    for (const auto& [name, value] : feeds) {
      if (const auto id = step.graph.find(name)) given[{*id, 0}] = value;
    }
    auto values = evaluate(step.graph, given, step.fetches);
    EXPECT_TRUE(values.ok()) << values.status().to_string();
    return *std::move(values);
  }
  // How many ops of each name are left after the pass, whose results must not change by a bit.
  std::map<std::string, int> fused(const std::vector<Value>& fetches, int taken) const {
    const StepGraph plain = step(fetches);
    StepGraph one = step(fetches);
    const auto count = fuse_batch_norm(one);
    EXPECT_TRUE(count.ok()) << count.status().to_string();
    EXPECT_EQ(*count, taken);
    EXPECT_TRUE(remove_unused_nodes(one).ok());
    const auto want = run(plain), got = run(one);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(want[i].shape(), got[i].shape());
      EXPECT_EQ(std::memcmp(want[i].raw(), got[i].raw(), want[i].bytes()), 0) << "fetch " << i;
    }
    std::map<std::string, int> ops;
    for (const Node& n : one.graph.nodes()) {
      if (n.op->name != "Placeholder" && n.op->name != "Const") ++ops[n.op->name];
    }
    return ops;
  }
};

using Ops = std::map<std::string, int>;

TEST(FuseBatchNorm, TakesInTheRelu) {
  Net net;
  const BatchNorm norm = net.norm(net.image("x"), "a");
  EXPECT_EQ(net.fused({relu(norm.y), norm.mean, norm.variance}, 1), (Ops{{"_FusedBatchNormEx", 1}}));
}

// Of bfloat16 the ReLU and its gradient, but no sum, which would be rounded once less.
TEST(FuseBatchNorm, OfBfloat16WithoutASum) {
  Net net;
  const Value x = cast(net.image("x"), DType::kBfloat16), dy = cast(net.image("dy"), DType::kBfloat16);
  const Value y = relu(net.norm(relu(net.norm(x, "a").y), "b").y + x);
  std::vector<Value> fetches = gradients(net.graph, {y}, {x}, {.grad_ys = {dy}});
  fetches.push_back(y);
  const Ops ops = net.fused(fetches, 2);
  EXPECT_EQ(ops.at("_FusedBatchNormEx"), 1);
  EXPECT_EQ(ops.at("_FusedBatchNormGradEx"), 1);
  EXPECT_EQ(ops.at("Relu"), 1);
}

//  x ─► norm ─► relu ─► norm ─► + x ─► relu: a residual block, its gradients, and those of its variables
TEST(FuseBatchNorm, ResidualBlockAndItsGradients) {
  Net net;
  const Value x = net.image("x"), dy = net.image("dy");
  const Value inner = relu(net.norm(x, "a").y);
  const Value y = relu(net.norm(inner * inner, "b").y + x);
  std::vector<Value> wanted = {x};
  for (const char* name : {"a/scale", "a/offset", "b/scale", "b/offset"}) wanted.push_back(*net.graph.value(name));
  std::vector<Value> fetches = gradients(net.graph, {y}, wanted, {.grad_ys = {dy}});
  fetches.push_back(y);
  const Ops ops = net.fused(fetches, 4);
  EXPECT_EQ(ops.at("_FusedBatchNormEx"), 2);
  EXPECT_EQ(ops.at("_FusedBatchNormGradEx"), 1);
  EXPECT_EQ(ops.at("FusedBatchNormGradV3"), 1);  // the ReLU after the sum has two readers
  EXPECT_EQ(ops.at("ReluGrad"), 1);
  EXPECT_EQ(ops.count("Relu") + ops.count("AddV2"), 0);
}

// Each block's side is what the one before it became.
TEST(FuseBatchNorm, BlockAfterBlock) {
  Net net;
  Value x = net.image("x");
  for (const char* name : {"a", "b", "c"}) x = relu(net.norm(x * x, name).y + x);
  const Ops ops = net.fused({x}, 6);
  EXPECT_EQ(ops, (Ops{{"_FusedBatchNormEx", 3}, {"Mul", 3}}));
}

// Of two normalisations that are added, one takes in the other's result.
TEST(FuseBatchNorm, BothSidesNormalised) {
  Net net;
  const Value y = relu(net.norm(net.image("x"), "a").y + net.norm(net.image("z"), "b").y);
  EXPECT_EQ(net.fused({y}, 2), (Ops{{"FusedBatchNormV3", 1}, {"_FusedBatchNormEx", 1}}));
}

TEST(FuseBatchNorm, LeavesAloneWhatOthersSee) {
  const auto left = [](const auto& build) {
    Net net;
    const std::vector<Value> fetches = build(net);
    EXPECT_EQ(net.fused(fetches, 0).count("_FusedBatchNormEx"), 0);
  };
  left([](Net& n) {  // the normalised value itself is asked for
    const Value y = n.norm(n.image("x"), "a").y;
    return std::vector<Value>{relu(y), y};
  });
  left([](Net& n) {  // or read by another node
    const Value y = n.norm(n.image("x"), "a").y;
    return std::vector<Value>{relu(y), n.graph.add("Neg", {y})};
  });
  left([](Net& n) {  // the sum is read by another node
    const Value sum = n.norm(n.image("x"), "a").y + n.image("z");
    return std::vector<Value>{relu(sum), n.graph.add("Neg", {sum})};
  });
  left([](Net& n) {  // what is added broadcasts
    return std::vector<Value>{relu(n.norm(n.image("x"), "a").y + n.fed("bias", {kChannels}))};
  });
  left([](Net& n) {  // what is added depends on the statistics
    const BatchNorm norm = n.norm(n.image("x"), "a");
    return std::vector<Value>{relu(norm.y + n.image("z") * norm.mean)};
  });
  left([](Net& n) {  // not training
    const Value mean = n.fed("mean", {kChannels}), variance = n.graph.add("Exp", {n.fed("variance", {kChannels})});
    return std::vector<Value>{
        relu(n.norm(n.image("x"), "a", {.mean = mean, .variance = variance, .is_training = false}).y)};
  });
}

TEST(FuseBatchNorm, SaysWhatItDidAndMayBeSwitchedOff) {
  Net net;
  const Value y = relu(net.norm(net.image("x"), "a").y);
  const auto on = prepare_step(net.step({y}), {}), off = prepare_step(net.step({y}), {.without = "fuse_batch_norm"});
  ASSERT_TRUE(on.ok() && off.ok());
  EXPECT_THAT(on->notes, testing::Contains(testing::HasSubstr("fuse_batch_norm: 1 nodes")));
  EXPECT_THAT(off->notes, testing::Contains("fuse_batch_norm: off"));
}

TEST(FuseBatchNorm, TheReluIsTakenIn) {
  expect_rewrite(fuse_batch_norm, R"(
    x = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    c = Placeholder [dtype=float, shape=shape[3]]
    n = FusedBatchNormV3(x, c, c, c, c)
    y = Relu(n)
    z = Neg(y)
    -> z)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    c = Placeholder [dtype=float, shape=shape[3]]
    y/fused = _FusedBatchNormEx(x, c, c, c, c) [activation_mode="Relu", num_side_inputs=0]
    z = Neg(y/fused)
    -> z)");
}

TEST(FuseBatchNorm, ANormThatOthersReadIsLeftAlone) {
  expect_left_alone(fuse_batch_norm, R"(
    x = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    c = Placeholder [dtype=float, shape=shape[3]]
    n = FusedBatchNormV3(x, c, c, c, c)
    y = Relu(n)
    -> y, n)");
}

}  // namespace
}  // namespace argosy
