// What DataParallel tells of a replicated step: collectives with their reasons, nodes that run whole, where a node is.
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/embedding.h"

namespace argosy {
namespace {

const std::vector<std::string> kTwo = {"/device:GPU:0", "/device:GPU:1"};

// A weight that is trained, and an average of the inputs that is followed.
struct Averages {
  Graph g;
  VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {3}), "w");
  VariableNode average = variable(g, Tensor::zeros(DType::kFloat32, {3}), "average");
  Value x = placeholder(g, DType::kFloat32, {-1, 3}, "x");
  Value mean = reduce_mean(x, {0});
  Value loss, gradient, update, follow;

  // `also`: a value that shards go on computing from their own mean.
  explicit Averages(bool also) {
    loss = reduce_mean(square(x * w.read));
    if (also) loss = loss + reduce_sum(g.add("StopGradient", {mean * mean})) * 0.0f;
    gradient = gradients(g, {loss}, {w.ref})[0];
    update = g.add("ApplyGradientDescent", {w.ref, constant(g, 1.0f), gradient}, {}, "update");
    follow = assign_sub(average, (average.read - mean) * 0.25f, "follow");
  }
  Result<DataParallel> made(std::vector<std::string> devices = kTwo) {
    return DataParallel::make(g, {.devices = std::move(devices), .losses = {loss}, .train = {update, follow}});
  }
};

TEST(PlannedCollectives, AGradientAndAStatisticSayWhyTheyTravel) {
  Averages model(false);
  const auto dp = model.made();
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  int values = 0;
  bool gradient = false, other = false;
  for (const PlannedCollective& c : dp->collectives()) {
    EXPECT_EQ(c.op, "all-reduce");
    EXPECT_EQ(c.bytes, 12 * c.values);  // three floats each
    EXPECT_TRUE(model.g.find(c.value).has_value()) << c.value << " is no node of the original graph";
    values += c.values;
    gradient = gradient || c.why.find("gradient") != std::string::npos;
    other = other || c.why.find("global batch") != std::string::npos;
  }
  EXPECT_EQ(values, 2);
  EXPECT_TRUE(gradient);
  EXPECT_TRUE(other);
}

TEST(PlannedCollectives, OneDeviceNeedsNone) {
  Averages model(false);
  const auto dp = model.made({"/device:GPU:0"});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  EXPECT_TRUE(dp->collectives().empty());
  EXPECT_TRUE(dp->whole().empty());
}

TEST(PlannedCollectives, JoinedRowsAreAnAllGather) {
  embedding::Embedding model(embedding::Rule::kScatter, false);
  const auto dp = DataParallel::make(
      model.graph,
      {.devices = kTwo, .losses = {model.loss}, .train = {model.train}, .batch_inputs = {model.words, model.target}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto told = dp->collectives();
  const auto joined = std::find_if(told.begin(), told.end(), [](const auto& c) { return c.op == "all-gather"; });
  ASSERT_NE(joined, told.end());
  EXPECT_EQ(joined->bytes, -1);  // rows depend on the batch
  EXPECT_NE(joined->why.find("rows of all shards"), std::string::npos);
  EXPECT_TRUE(model.graph.find(joined->value).has_value()) << joined->value;
}

TEST(PlannedCollectives, WhatIsRecomputedIsWhole) {
  embedding::Embedding model(embedding::Rule::kClipped, false);
  const auto dp = DataParallel::make(
      model.graph,
      {.devices = kTwo, .losses = {model.loss}, .train = {model.train}, .batch_inputs = {model.words, model.target}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  ASSERT_FALSE(dp->whole().empty());
  for (const PlannedWhole& w : dp->whole()) {
    const auto id = model.graph.find(w.node);
    ASSERT_TRUE(id.has_value()) << w.node << " is no node of the original graph";
    EXPECT_EQ(model.graph.node(*id).op->name, w.op);
    EXPECT_FALSE(w.why.empty());
  }
}

TEST(PlannedCollectives, ANodeSaysWhereItIs) {
  Averages model(false);
  const auto dp = model.made();
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  EXPECT_EQ(dp->planned("w")->copies, "one on each of 2 devices, all equal");
  EXPECT_EQ(dp->planned("x")->copies, "once");
  const auto mean = dp->planned(model.mean.node_name());
  ASSERT_TRUE(mean.ok());
  EXPECT_EQ(mean->copies, "one on each of 2 devices, of the device's examples");
  EXPECT_NE(mean->why.find("mean over a shard's examples"), std::string::npos) << mean->why;
  EXPECT_EQ(dp->planned("ww").status().id(), "ARG-SHARD-005");
  EXPECT_EQ(dp->planned("updat").status().hint(), "update");
}

}  // namespace
}  // namespace argosy
