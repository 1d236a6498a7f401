// The promise of data parallelism, in numbers: the same losses on any number of devices, whatever the loss, the batch
// and the weights.
#include "argosy/strategy/data_parallel/data_parallel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/model/layers.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/model/optimizers.h"
#include "tests/replicas/loss_kinds_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using namespace loss_kinds;

TEST(DataParallelTraining, SameLossesOnAnyNumberOfDevices) {
  for (const Kind kind : kKinds) {
    LossTask task(kind, DType::kFloat64);
    const auto alone = train(task, kBatches, 1);
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    ASSERT_LT(alone->losses[3], 1e6);
    for (const int devices : {2, 3, 4, 8}) {
      const auto many = train(task, kBatches, devices);
      ASSERT_TRUE(many.ok()) << many.status().to_string();
      expect_same(*many, *alone, 1e-9, str_cat("loss kind ", static_cast<int>(kind), " on ", devices, " devices"));
    }
  }
}

TEST(DataParallelTraining, UnequalShardsWeighExactly) {
  LossTask task(Kind::kMean, DType::kFloat64);
  const auto alone = train(task, kBatches, 1);
  const auto uneven = train(task, kBatches, 3, 0, {1.0, 0.5, 0.1});
  ASSERT_TRUE(alone.ok() && uneven.ok()) << uneven.status().to_string();
  expect_same(*uneven, *alone, 1e-9, "speeds 1, 0.5, 0.1");
}

TEST(DataParallelTraining, GradientsAreSummedBeforeTheyAreClipped) {
  for (const MinimizeOptions& clip : {MinimizeOptions{.clip_global_norm = 0.05}, MinimizeOptions{.clip_norm = 0.02},
                                      MinimizeOptions{.clip_value = 0.01}}) {
    for (const Kind kind : {Kind::kMean, Kind::kSum}) {
      LossTask task(kind, DType::kFloat64, clip);
      const auto alone = train(task, kBatches, 1);
      const auto many = train(task, kBatches, 4);
      ASSERT_TRUE(alone.ok() && many.ok()) << many.status().to_string();
      expect_same(*many, *alone, 1e-9, "clipped");
    }
  }
}

TEST(DataParallelTraining, EveryOptimizerAgrees) {
  for (const char* name : {"sgd", "momentum", "nesterov", "adagrad", "adadelta", "rmsprop", "adam", "adamw", "ftrl"}) {
    const auto optimizer = optimizer_by_name(name, 0.01);
    ASSERT_TRUE(optimizer.ok());
    LossTask task(Kind::kMean, DType::kFloat64, {}, *optimizer);
    const auto alone = train(task, kBatches, 1);
    const auto two = train(task, kBatches, 2);
    ASSERT_TRUE(alone.ok() && two.ok()) << name << ": " << alone.status().to_string() << two.status().to_string();
    expect_same(*two, *alone, 1e-8, name);
    EXPECT_NE(difference(alone->variables[0], train(task, {}, 1)->variables[0], 0), "") << name << " changed nothing";
  }
}

TEST(DataParallelTraining, LogicalShardsAreDeterministicOnAnyNumberOfDevices) {
  LossTask task(Kind::kMean, DType::kFloat32);
  const auto alone = train(task, kBatches, 1, 8);
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  for (const int devices : {2, 3, 4, 8}) {
    const auto many = train(task, kBatches, devices, 8);
    ASSERT_TRUE(many.ok()) << many.status().to_string();
    EXPECT_EQ(many->losses, alone->losses) << devices;
    for (std::size_t i = 0; i < alone->variables.size(); ++i) {
      const Tensor &a = alone->variables[i], &b = many->variables[i];
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << "variable " << i << " on " << devices;
    }
  }
}

// Noise that has no rows of examples is drawn once: mirrors stay the same, left to chance or not.
TEST(DataParallelTraining, WhatIsDrawnForAllIsDrawnOnce) {
  Graph g;
  Layers net(g, {.seed = 3});
  const Value x = net.input("x", DType::kFloat32, {6});
  const Value noise = g.add("RandomStandardNormal", {constant(g, Tensor::vector<std::int32_t>({8}))},
                            {{"dtype", DType::kFloat32}, {"seed", 0}, {"seed2", 0}});
  const Value loss = reduce_mean(square(net.dense(x, 8) + noise));
  const TrainStep step = sgd(0.1).minimize(loss, net.trainable());
  auto dp =
      DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {step.run}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  TestSession session(dp->graph(), {.devices = {.devices = "2", .emulate = "2"}});
  std::vector<VariableNode> variables = net.variables();
  variables.insert(variables.end(), step.slots.begin(), step.slots.end());
  for (const VariableNode& v : variables) ASSERT_TRUE(session.run_targets({dp->target(v.initializer)}).ok());
  for (int i = 0; i < 3; ++i) {
    const Feeds feeds = {{dp->input(x), random_tensor(DType::kFloat32, {5, 6})}};
    const auto ran = session.run(feeds, {}, {dp->target(step.run)});
    ASSERT_TRUE(ran.ok()) << ran.status().to_string();
  }
  for (const VariableNode& v : variables) {
    const auto mirror = dp->graph().value(str_cat(v.ref.node_name(), "/replica_1"));
    ASSERT_TRUE(mirror.ok()) << mirror.status().to_string();
    const auto both = session.run({dp->input(v.ref), *mirror});
    ASSERT_TRUE(both.ok()) << both.status().to_string();
    EXPECT_EQ(difference((*both)[0], (*both)[1], 0), "") << v.ref.node_name();
  }
}

// Nobody named what brings the batch: a mean of other rows would be weighted by the first feed's.
TEST(DataParallelTraining, UnnamedFeedsOfOtherRowsAreRefused) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x"), t = placeholder(g, DType::kFloat32, {-1, 2}, "t");
  const VariableNode w = variable(g, Tensor::scalar(2.0f), "w");
  const Value loss = reduce_mean(square(x * w.read)) + reduce_mean(t * w.read);
  const auto dp = [&](const std::vector<std::pair<Value, Shape>>& examples) {
    return DataParallel::make(g,
                              {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .examples = examples});
  };
  auto made = dp({});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const auto global = made->fetch(loss);
  ASSERT_TRUE(global.ok()) << global.status().to_string();
  TestSession session(made->graph(), {.devices = {.devices = "2", .emulate = "2"}});
  ASSERT_TRUE(session.run_targets({made->target(w.initializer)}).ok());
  const auto step_of = [&](std::int64_t rows) {
    return session
        .run({{made->input(x), random_tensor(DType::kFloat32, {6, 2})},
              {made->input(t), random_tensor(DType::kFloat32, {rows, 2})}},
             {*global})
        .status();
  };
  EXPECT_TRUE(step_of(6).ok()) << step_of(6).to_string();
  const Status other = step_of(4);
  EXPECT_EQ(other.code(), Code::kInvalidArgument) << other.to_string();
  EXPECT_NE(other.message().find("rows of 't' and 'x' differ"), std::string::npos) << other.to_string();
  EXPECT_TRUE(step_of(6).ok());
  EXPECT_TRUE(dp({{x, {6, 2}}, {t, {6, 2}}}).ok());
  EXPECT_EQ(dp({{x, {6, 2}}, {t, {4, 2}}}).status().id(), "ARG-DP-011");
}

TEST(DataParallelTraining, EveryMirrorIsTheSame) {
  LossTask task(Kind::kMean, DType::kFloat32);
  DataParallelOptions options{
      .devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {task.loss}, .train = {task.step.run}};
  auto dp = DataParallel::make(task.graph, options);
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  TestSession session(dp->graph(), {.devices = {.devices = "2", .emulate = "2"}});
  ASSERT_TRUE(session.run_targets({dp->target(task.initializer)}).ok());
  const Feeds feeds = {{dp->input(task.x), random_tensor(DType::kFloat32, {5, 6})},
                       {dp->input(task.target), random_tensor(DType::kFloat32, {5, 3})},
                       {dp->input(task.weight), random_tensor(DType::kFloat32, {5})}};
  ASSERT_TRUE(session.run(feeds, {}, {dp->target(task.step.run)}).ok());
  for (const VariableNode& v : task.variables) {
    const auto mirror = dp->graph().value(str_cat(v.ref.node_name(), "/replica_1"));
    ASSERT_TRUE(mirror.ok()) << mirror.status().to_string();
    const auto both = session.run({dp->input(v.ref), *mirror});
    ASSERT_TRUE(both.ok()) << both.status().to_string();
    EXPECT_EQ(difference((*both)[0], (*both)[1], 0), "") << v.ref.node_name();
  }
}

TEST(DataParallelTraining, ValuesPerSampleAreJoined) {
  LossTask task(Kind::kMean, DType::kFloat32);
  DataParallelOptions options{
      .devices = {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"}, .losses = {task.loss}, .train = {task.step.run}};
  auto dp = DataParallel::make(task.graph, options);
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto joined = dp->fetch(task.prediction);
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  TestSession many(dp->graph(), {.devices = {.devices = "3", .emulate = "3"}});
  TestSession one(task.graph, {.devices = {.devices = "cpu:0"}});
  ASSERT_TRUE(many.run_targets({dp->target(task.initializer)}).ok());
  ASSERT_TRUE(one.run_targets({task.initializer}).ok());
  const Tensor x = random_tensor(DType::kFloat32, {7, 6});
  const auto got = many.run({{dp->input(task.x), x}}, {*joined});
  const auto expected = one.run({{task.x, x}}, {task.prediction});
  ASSERT_TRUE(got.ok() && expected.ok()) << got.status().to_string();
  EXPECT_EQ(difference((*got)[0], (*expected)[0], 1e-6), "");
}

// The largest over the batch is one device's (data_parallel_rules_test.cc), and no mean, whatever the user says.
TEST(DataParallelTraining, ALossThatIsNoMeanIsNotCombinedAsOne) {
  Graph g;
  Layers net(g);
  const Value x = net.input("x", DType::kFloat32, {2});
  const Value loss = reduce_max(square(net.dense(x, 1)));
  const TrainStep step = sgd(0.1).minimize(loss, net.trainable());
  DataParallelOptions options{.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {step.run}};
  const auto by_rules = DataParallel::make(g, options);
  ASSERT_TRUE(by_rules.ok()) << by_rules.status().to_string();
  EXPECT_NE(by_rules->summary().find("by sharding rules"), std::string::npos) << by_rules->summary();
  options.loss_placement = PlacementKind::kPartialMean;
  const auto told = DataParallel::make(g, options);
  EXPECT_EQ(told.status().id(), "ARG-DP-002") << told.status().to_string();
  options.loss_placement.reset();
  options.accumulate = 2;
  const auto in_turns = DataParallel::make(g, options);
  ASSERT_TRUE(in_turns.ok()) << in_turns.status().to_string();
  EXPECT_NE(in_turns->summary().find("2 micro-batches, by sharding rules"), std::string::npos) << in_turns->summary();
}

TEST(DataParallelTraining, DevicesPinnedByHandAreNotReplicated) {
  Graph g;
  Layers net(g);
  const Value x = net.input("x", DType::kFloat32, {2});
  Value a, b;
  {
    const auto on = g.device("/gpu:0");
    a = net.dense(x, 2);
  }
  {
    const auto on = g.device("/gpu:1");
    b = net.dense(a, 1);
  }
  const Value loss = reduce_mean(b);
  const TrainStep step = sgd(0.1).minimize(loss, net.trainable());
  const auto made =
      DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {step.run}});
  EXPECT_EQ(made.status().id(), "ARG-DP-005");
}

// A graph as TensorFlow 1.x writes it: random ops that keep their state, whose shape is that of what they disturb.
TEST(DataParallelTraining, RandomNumbersAreTheBatchs) {
  Graph g;
  set_random_seed(g, 11);
  const Value x = placeholder(g, DType::kFloat32, {-1, 5});
  const Value kept = floor(random_uniform(g, shape(x)) + 0.75);
  const Value noisy = x / 0.75 * kept + random_normal(g, shape(x));
  // Two rows an example; and rows that are not the examples': every shard has a seed of its own.
  const Value twice = truncated_normal(g, shape(reshape(concat({x, x}, 1), {-1, 5})));
  const Value across = random_normal(g, shape(transpose(x, {1, 0})));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto draw = [&](int devices, std::vector<double> weights) -> Result<std::vector<Tensor>> {
    DataParallelOptions options{.weights = std::move(weights)};
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
    std::vector<Value> fetches;
    for (const Value v : {noisy, twice, across}) {
      ARGOSY_ASSIGN_OR_RETURN(fetches.emplace_back(), dp.fetch(v));
    }
    TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    std::vector<Tensor> all;
    for (const std::int64_t batch : kBatches) {
      const Tensor fed = random_tensor(DType::kFloat32, {batch, 5}, static_cast<std::uint64_t>(batch));
      ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run({{dp.input(x), fed}}, {fetches[0], fetches[1], fetches[2]}));
      all.push_back(out[0]);
      all.push_back(out[1]);
      EXPECT_EQ(out[2].shape(), Shape({5, batch}));
      const auto row = out[2].values<float>().first(static_cast<std::size_t>(batch));
      EXPECT_EQ(std::set<float>(row.begin(), row.end()).size(), row.size());
    }
    return all;
  };
  const auto one = draw(1, {});
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  for (const auto& [devices, weights] :
       {std::pair<int, std::vector<double>>{2, {}}, {3, {}}, {4, {}}, {3, {1, 0.5, 2}}}) {
    const auto many = draw(devices, weights);
    ASSERT_TRUE(many.ok()) << many.status().to_string();
    for (std::size_t i = 0; i < one->size(); ++i)
      EXPECT_EQ(difference((*many)[i], (*one)[i], 1e-6), "") << devices << " " << i;
  }
}

}  // namespace
}  // namespace argosy
