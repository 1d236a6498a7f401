// Micro-batches and logical shards as turns: the layout, what is said of it, and where a device adds up by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "argosy/graph/gradients.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> gpus(int n) {
  std::vector<std::string> devices;
  for (int d = 0; d < n; ++d) devices.push_back(str_cat("/device:GPU:", d));
  return devices;
}

// loss = mean((x w)^2), trained by one step of descent.
struct Line {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 3}, "x");
  VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {3, 2}), "w");
  Value hidden = matmul(x, w.read), loss, train;

  explicit Line(const std::function<Value(Value)>& of_hidden = [](Value h) { return reduce_mean(square(h)); }) {
    loss = of_hidden(hidden);
    descend();
  }
  void descend() {
    train = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.5F), gradients(g, {loss}, {w.read})[0]});
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
  }
  Result<DataParallel> replicated(DataParallelOptions options) {
    options.losses = {loss};
    options.train = {train};
    return DataParallel::make(g, options);
  }
};

std::map<std::string, int> ops_of(const Graph& g) {
  std::map<std::string, int> ops;
  for (const Node& n : g.nodes()) ++ops[n.op->name];
  return ops;
}

TEST(Turns, MicroBatchesAreConsecutiveShardsOfADevice) {
  const auto layout = make_layout({.devices = gpus(2), .weights = {1, 0.5}, .accumulate = 3});
  ASSERT_TRUE(layout.ok()) << layout.status().to_string();
  EXPECT_THAT(layout->device_of, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(layout->weights, ElementsAre(1000, 1000, 1000, 500, 500, 500));
  EXPECT_EQ(layout->block, 3);
  EXPECT_EQ(layout->turn_of(4), 1);
  EXPECT_TRUE(layout->has_turns());
  EXPECT_FALSE(make_layout({.devices = gpus(2)})->has_turns());
}

TEST(Turns, LogicalShardsAddUpWhereABlockIsOnOneDevice) {
  const auto block = [](int devices, std::vector<double> weights = {}) {
    const auto layout = make_layout({.devices = gpus(devices), .weights = std::move(weights), .shards = 8});
    return layout.ok() ? layout->block : -1;
  };
  EXPECT_EQ(block(1), 8);
  EXPECT_EQ(block(2), 4);
  EXPECT_EQ(block(4), 2);
  EXPECT_EQ(block(8), 1);
  EXPECT_EQ(block(3), 1) << "three of them, three and two";
  EXPECT_EQ(block(3, {2, 1, 1}), 2) << "four, two and two";
}

TEST(Turns, ChunksOfAShardAreThoseOfTheGlobalBatch) {
  Line line;
  const auto chunks = [&](int devices, int accumulate) {
    const auto layout = make_layout({.devices = gpus(devices), .losses = {line.loss}, .accumulate = accumulate});
    return layout.ok() ? layout->chunks : -1;
  };
  EXPECT_EQ(chunks(1, 1), 8);
  EXPECT_EQ(chunks(1, 4), 2);
  EXPECT_EQ(chunks(2, 4), 1);
  EXPECT_EQ(chunks(4, 4), 0) << "sixteen shards are finer than eight chunks";
  EXPECT_EQ(chunks(1, 3), 0);
}

TEST(Turns, WhatCannotBeIsTold) {
  Line line;
  const auto none = line.replicated({.devices = gpus(1), .accumulate = 0});
  EXPECT_EQ(none.status().id(), "ARG-DP-013") << none.status().to_string();
  const auto many = line.replicated({.devices = gpus(1), .accumulate = kMostMicroBatches + 1});
  EXPECT_EQ(many.status().id(), "ARG-DP-013") << many.status().to_string();
  const auto reproducible = line.replicated({.devices = gpus(4), .shards = 8, .accumulate = 4});
  EXPECT_EQ(reproducible.status().id(), "ARG-DP-013") << reproducible.status().to_string();
  EXPECT_THAT(reproducible.status().message(), HasSubstr("accumulate=4 on 4 devices makes 16 micro-batches"));
  EXPECT_THAT(reproducible.status().hint(), HasSubstr("accumulate=2"));
}

TEST(Turns, ADeviceAddsItsTurnsAndBringsOneValue) {
  Line line;
  const auto one = line.replicated({.devices = gpus(1), .accumulate = 4});
  const auto two = line.replicated({.devices = gpus(2), .accumulate = 4});
  ASSERT_TRUE(one.ok() && two.ok()) << one.status().to_string() << two.status().to_string();
  EXPECT_THAT(one->summary(), HasSubstr("1 device, 4 micro-batches, loss: a mean over the batch, 1 sum over its"));
  EXPECT_THAT(two->summary(), HasSubstr("2 devices, 4 micro-batches, loss: a mean over the batch, 1 sum in 1 all-r"));
  const auto sums = [](const DataParallel& dp) {
    int sums = 0;
    for (const Node& n : const_cast<DataParallel&>(dp).graph().nodes()) sums += Turn::of(n.attrs).sum ? 1 : 0;
    return sums;
  };
  EXPECT_EQ(sums(*one), 3);
  EXPECT_EQ(sums(*two), 6);
  EXPECT_EQ(ops_of(const_cast<DataParallel&>(*one).graph())["_AllReduce"], 0);
  for (const Node& n : const_cast<DataParallel&>(*two).graph().nodes()) {
    if (n.op->name != "_AllReduce") continue;
    EXPECT_EQ(n.inputs.size(), 1u);
  }
  EXPECT_EQ(ops_of(const_cast<DataParallel&>(*two).graph())["ApplyGradientDescent"], 2) << "one a device";
}

TEST(Turns, AValueOfAllMicroBatchesInTheForwardPassIsNoted) {
  // Its gradient is computed with the sum: no turn can end before all have begun.
  Line root([](Value h) { return sqrt(reduce_mean(square(h))); });
  const auto coupled = root.replicated({.devices = gpus(1), .accumulate = 2});
  ASSERT_TRUE(coupled.ok()) << coupled.status().to_string();
  ASSERT_FALSE(coupled->notes().empty());
  EXPECT_EQ(coupled->notes()[0].kind, ReplicationNote::Kind::kMemory);
  EXPECT_THAT(coupled->notes()[0].text, HasSubstr("memory does not fall"));
  EXPECT_THAT(coupled->summary(), HasSubstr("micro-batches run side by side for: "));
  // Weights of the batch alone are summed ahead.
  Line weighted;
  const Value weights = reduce_sum(weighted.x, 1);
  weighted.loss = reduce_sum(reduce_sum(square(weighted.hidden), 1) * weights) / reduce_sum(weights);
  weighted.descend();
  const auto ahead = weighted.replicated({.devices = gpus(1), .accumulate = 2});
  ASSERT_TRUE(ahead.ok()) << ahead.status().to_string();
  EXPECT_TRUE(ahead->notes().empty()) << ahead->notes()[0].text;
  // TensorFlow's gradient of a square multiplies by a constant that waits for the gradient before it.
  Line waits([](Value h) {
    Graph& g = h.graph();
    const Value squares = h * h;
    const auto after = g.control_dependencies({squares});
    return reduce_mean(squares * constant(g, 2.0F));
  });
  const auto free = waits.replicated({.devices = gpus(1), .accumulate = 2});
  ASSERT_TRUE(free.ok()) << free.status().to_string();
  EXPECT_TRUE(free->notes().empty()) << free->notes()[0].text;
  Line plain;
  const auto apart = plain.replicated({.devices = gpus(1), .accumulate = 2});
  ASSERT_TRUE(apart.ok());
  EXPECT_TRUE(apart->notes().empty());
}

}  // namespace
}  // namespace argosy
