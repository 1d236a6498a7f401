// Gradient accumulation: micro-batches one after the other on each device are the global batch, whatever the loss, the
// batch and the weights; and memory is that of one of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"
#include "tests/replicas/loss_kinds_test.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using namespace loss_kinds;
using testing::HasSubstr;

void expect_equal_bits(const Outcome& got, const Outcome& expected, const std::string& what) {
  ASSERT_EQ(got.variables.size(), expected.variables.size());
  for (std::size_t i = 0; i < expected.variables.size(); ++i) {
    const Tensor &a = expected.variables[i], &b = got.variables[i];
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << what << ", variable " << i;
  }
}

class DataParallelTurns : public testing::TestWithParam<Kind> {};

// Batches of 1 to 16 examples: of up to 16 micro-batches many are empty.
TEST_P(DataParallelTurns, SameLossesWithAnyNumberOfMicroBatches) {
  LossTask task(GetParam(), DType::kFloat64);
  const auto alone = train(task, kBatches, 1);
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  for (const int devices : {1, 2, 3, 4}) {
    for (const int accumulate : {1, 2, 3, 4}) {
      const auto many = train(task, kBatches, devices, 0, {}, accumulate);
      ASSERT_TRUE(many.ok()) << many.status().to_string();
      expect_same(*many, *alone, 1e-9, str_cat(devices, " devices, accumulate=", accumulate));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, DataParallelTurns, testing::ValuesIn(kKinds),
                         [](const auto& param) { return str_cat("Kind", static_cast<int>(param.param)); });

TEST(DataParallelTurns, UnequalDevicesWeighExactly) {
  for (const Kind kind : {Kind::kMean, Kind::kSeveralTerms}) {
    LossTask task(kind, DType::kFloat64);
    const auto alone = train(task, kBatches, 1);
    const auto uneven = train(task, kBatches, 3, 0, {1.0, 0.5, 0.1}, 3);
    ASSERT_TRUE(alone.ok() && uneven.ok()) << uneven.status().to_string();
    expect_same(*uneven, *alone, 1e-9, "speeds 1, 0.5, 0.1");
  }
}

TEST(DataParallelTurns, GradientsAreClippedOnceAllHaveBeenAdded) {
  for (const MinimizeOptions& clip : {MinimizeOptions{.clip_global_norm = 0.05}, MinimizeOptions{.clip_norm = 0.02}}) {
    LossTask task(Kind::kMean, DType::kFloat64, clip);
    const auto alone = train(task, kBatches, 1);
    for (const int devices : {1, 2}) {
      const auto many = train(task, kBatches, devices, 0, {}, 4);
      ASSERT_TRUE(alone.ok() && many.ok()) << many.status().to_string();
      expect_same(*many, *alone, 1e-9, "clipped");
    }
  }
}

TEST(DataParallelTurns, EveryOptimizerUpdatesOnceAStep) {
  for (const char* name : {"sgd", "momentum", "nesterov", "adagrad", "adadelta", "rmsprop", "adam", "adamw", "ftrl"}) {
    const auto optimizer = optimizer_by_name(name, 0.01);
    ASSERT_TRUE(optimizer.ok());
    LossTask task(Kind::kMean, DType::kFloat64, {}, *optimizer);
    const auto alone = train(task, kBatches, 1);
    const auto two = train(task, kBatches, 2, 0, {}, 3);
    ASSERT_TRUE(alone.ok() && two.ok()) << name << ": " << alone.status().to_string() << two.status().to_string();
    expect_same(*two, *alone, 1e-8, name);
  }
}

TEST(DataParallelTurns, TheGlobalStepCountsSteps) {
  Graph g;
  Layers net(g, {.seed = 3});
  const Value x = net.input("x", DType::kFloat32, {6});
  const Value loss = reduce_mean(square(net.dense(x, 2)));
  const VariableNode counter = variable(g, Tensor::scalar(std::int64_t{0}), "global_step");
  const TrainStep step = sgd(0.1).minimize(loss, net.trainable(), {.global_step = counter});
  for (const int devices : {1, 2}) {
    DataParallelOptions options{.losses = {loss}, .train = {step.run}, .accumulate = 4};
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    auto dp = DataParallel::make(g, options);
    ASSERT_TRUE(dp.ok()) << dp.status().to_string();
    TestSession session(dp->graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    for (const VariableNode& v : net.variables()) ASSERT_TRUE(session.run_targets({dp->target(v.initializer)}).ok());
    ASSERT_TRUE(session.run_targets({dp->target(counter.initializer)}).ok());
    for (int i = 0; i < 3; ++i) {
      const auto ran =
          session.run({{dp->input(x), random_tensor(DType::kFloat32, {9, 6})}}, {}, {dp->target(step.run)});
      ASSERT_TRUE(ran.ok()) << ran.status().to_string();
    }
    const auto count = session.run({dp->input(counter.read)});
    ASSERT_TRUE(count.ok()) << count.status().to_string();
    EXPECT_EQ(*(*count)[0].data<std::int64_t>(), 3);
  }
}

// devices * accumulate is what counts, of a power of two; beyond 8 it is no longer one device's.
TEST(DataParallelTurns, AsManyMicroBatchesInAllGiveEqualBits) {
  const std::vector<std::int64_t> batches = {48, 40, 24, 33};
  LossTask task(Kind::kMean, DType::kFloat32);
  for (const int total : {2, 4, 8, 16, 32}) {
    const auto expected = train(task, batches, 1, 0, {}, total);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    for (const int devices : {2, 4, 8}) {
      if (total % devices != 0) continue;
      const auto got = train(task, batches, devices, 0, {}, total / devices);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      expect_equal_bits(*got, *expected, str_cat(total, " on ", devices));
    }
  }
}

TEST(DataParallelTurns, ReproducibleStepsAreDeterministicInMicroBatches) {
  LossTask task(Kind::kMean, DType::kFloat32);
  const auto expected = train(task, kBatches, 1, 8);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const auto& [devices, accumulate] :
       {std::pair{1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {3, 1}, {3, 2}, {4, 2}, {5, 1}, {7, 1}, {8, 1}}) {
    const auto got = train(task, kBatches, devices, 8, {}, accumulate);
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    EXPECT_EQ(got->losses, expected->losses) << devices;
    expect_equal_bits(*got, *expected, str_cat(devices, " devices, accumulate=", accumulate));
  }
  // Faster devices take more of the shards, in blocks that are no whole subtrees.
  const auto uneven = train(task, kBatches, 3, 8, {1.0, 0.4, 0.2});
  ASSERT_TRUE(uneven.ok()) << uneven.status().to_string();
  expect_equal_bits(*uneven, *expected, "speeds 1, 0.4, 0.2");
}

// Gradients of 16 bits are added in float32 and rounded once, wherever their micro-batch was.
TEST(DataParallelTurns, HalfPrecisionAddsUpTheSame) {
  const std::vector<std::int64_t> batches = {48, 40};
  for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    Graph g;
    Layers net(g, {.seed = 3, .dtype = dtype});
    const Value x = net.input("x", dtype, {6});
    const Value loss = reduce_mean(square(net.dense(x, 5)));
    const TrainStep step = sgd(0.1).minimize(loss, net.trainable());
    std::vector<Tensor> expected;
    for (const auto& [devices, accumulate] : {std::pair{4, 1}, {2, 2}, {1, 4}}) {
      DataParallelOptions options{.losses = {loss}, .train = {step.run}, .accumulate = accumulate};
      for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
      auto dp = DataParallel::make(g, options);
      ASSERT_TRUE(dp.ok()) << dp.status().to_string();
      TestSession session(dp->graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
      std::vector<Value> reads;
      std::vector<VariableNode> variables = net.variables();
      variables.insert(variables.end(), step.slots.begin(), step.slots.end());
      for (const VariableNode& v : variables) {
        ASSERT_TRUE(session.run_targets({dp->target(v.initializer)}).ok());
        reads.push_back(dp->input(v.read));
      }
      for (const std::int64_t batch : batches) {
        const auto ran = session.run({{dp->input(x), random_tensor(dtype, {batch, 6})}}, {}, {dp->target(step.run)});
        ASSERT_TRUE(ran.ok()) << ran.status().to_string();
      }
      const auto got = session.run(reads);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      if (expected.empty()) expected = *got;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(std::memcmp(expected[i].raw(), (*got)[i].raw(), expected[i].bytes()), 0) << devices << " " << i;
      }
    }
  }
}

// Without its training op the step is a forward pass, in turns or not: nothing runs for the sake of the order.
TEST(DataParallelTurns, ALossAloneTrainsNothing) {
  LossTask task(Kind::kMean, DType::kFloat64);
  DataParallelOptions options{
      .devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {task.loss}, .train = {task.step.run}, .accumulate = 4};
  auto dp = DataParallel::make(task.graph, options);
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  EXPECT_THAT(dp->summary(), HasSubstr("2 devices, 4 micro-batches, loss: a mean over the batch"));
  const auto loss = dp->fetch(task.loss), prediction = dp->fetch(task.prediction);
  ASSERT_TRUE(loss.ok() && prediction.ok());
  TestSession many(dp->graph(), {.devices = {.devices = "2", .emulate = "2"}});
  TestSession one(task.graph, {.devices = {.devices = "cpu:0"}});
  ASSERT_TRUE(many.run_targets({dp->target(task.initializer)}).ok());
  ASSERT_TRUE(one.run_targets({task.initializer}).ok());
  const Tensor x = random_tensor(DType::kFloat64, {11, 6}), target = random_tensor(DType::kFloat64, {11, 3});
  StepStats stats;
  stats.keep_ops = true;
  const auto got =
      many.run({{dp->input(task.x), x}, {dp->input(task.target), target}}, {*loss, *prediction}, {}, {.stats = &stats});
  const auto expected = one.run({{task.x, x}, {task.target, target}}, {task.loss, task.prediction});
  ASSERT_TRUE(got.ok() && expected.ok()) << got.status().to_string();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(difference((*got)[i], (*expected)[i], 1e-12), "") << i;
  EXPECT_GT(stats.ops.size(), 0u);
  for (const OpRecord& record : stats.ops) {
    EXPECT_THAT(std::string(record.node), testing::Not(HasSubstr("/turns/"))) << "sums of gradients";
  }
}

// As TensorFlow's clients write a step: gradients behind the NoOp of tf.tuple(), the loss fetched beside the training op.
// Nothing of these may tie the turns together.
struct ClientStep {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 64}, "x"), loss, train;

  explicit ClientStep(const std::function<Value(Value)>& of_mean = [](Value mean) { return mean; }) {
    std::vector<Value> variables, handles;
    Value h = x;
    for (int i = 0; i < 4; ++i) {
      const VariableNode w = variable(g, random_tensor(DType::kFloat32, {i == 0 ? 64 : 256, 256}, 3), str_cat("w", i));
      h = g.add("Tanh", {matmul(h, w.read)});
      variables.push_back(w.read);
      handles.push_back(w.ref);
    }
    loss = of_mean(reduce_mean(square(h)));
    std::vector<Value> slopes = gradients(g, {loss}, variables), updates;
    const Value all = group(g, slopes, "group_deps");
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const auto after = g.control_dependencies({all});
      updates.push_back(g.add("ApplyGradientDescent", {handles[i], constant(g, 0.5F), g.add("Identity", {slopes[i]})}));
    }
    train = group(g, updates, "train");
    EXPECT_TRUE(g.status().ok()) << g.status().to_string();
  }

  // Bytes of activations and gradients on one device, and what the step's passes said of turns.
  std::uint64_t planned(int accumulate, std::string* said) const {
    auto dp = DataParallel::make(
        g, {.devices = {"/device:GPU:0"}, .losses = {loss}, .train = {train, loss}, .accumulate = accumulate});
    EXPECT_TRUE(dp.ok()) << dp.status().to_string();
    if (!dp.ok()) return 0;
    TestSession session(dp->graph(), {.devices = {.devices = "1", .emulate = "1"}});
    const auto fetched = dp->fetch(loss);
    const std::vector<std::pair<Value, Shape>> feeds = {{dp->input(x), {4096, 64}}};
    const std::vector<Value> targets = {dp->target(train), dp->target(loss)};
    const auto forecast = session.forecast(feeds, {*fetched}, targets);
    const auto report = session.placement(feeds, {*fetched}, targets);
    EXPECT_TRUE(forecast.ok() && report.ok()) << forecast.status().to_string();
    std::uint64_t bytes = 0;
    for (const MemoryForecast& f : *forecast) bytes = std::max(bytes, f.arena_bytes);
    for (const std::string& line : report->passes) {
      if (line.starts_with("turns:")) *said = line;
    }
    return bytes;
  }
};

TEST(DataParallelTurns, WhatAClientWritesAroundGradientsTiesNoTurnsTogether) {
  const ClientStep step;
  std::string said;
  const std::uint64_t whole = step.planned(1, &said), turns = step.planned(8, &said);
  std::printf("%.1f MiB, in 8 turns %.1f MiB\n", static_cast<double>(whole) / 1048576,
              static_cast<double>(turns) / 1048576);
  EXPECT_EQ(said, "");
  EXPECT_LT(turns * 2, whole);
}

// The root of a mean over the batch has to be known before any gradient: all turns go forward first.
TEST(DataParallelTurns, TurnsThatMeetAreTold) {
  const ClientStep step([](Value mean) { return mean.graph().add("Sqrt", {mean}); });
  std::string said;
  (void)step.planned(8, &said);
  EXPECT_THAT(said, HasSubstr("come before an earlier turn has ended"));
}

// Activations take memory for one micro-batch; beside them lie at most two sums of gradients, as the tree has them.
class MemoryOfTurns : public testing::TestWithParam<const char*> {};

// Bytes of the neediest device, without workspaces: these go by the algorithm of a layer, which the global batch selects.
struct Needs {
  std::uint64_t planned = 0, gradients = 0;
  std::string largest;
};

Result<Needs> needs(const std::string& name, int devices, std::int64_t batch, int accumulate) {
  const models::ClassifierOptions shape{.image_size = 28, .channels = 1, .classes = 10};
  const ModelBuilder model = name == "mlp"      ? models::mlp(shape, 256, 256)
                             : name == "lenet"  ? models::lenet(shape)
                             : name == "resnet" ? models::resnet({.image_size = 32, .channels = 3}, 20)
                                                : models::autoencoder({.image_size = 32, .depth = 3, .width = 16});
  const DeviceRequest request{.devices = str_cat(devices), .emulate = str_cat(devices)};
  ARGOSY_ASSIGN_OR_RETURN(const auto chosen, chosen_devices(request));
  const Optimizer optimizer = adam(0.001);
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(model, {.seed = 5}, &optimizer));
  Needs needs;
  for (const Value& v : built.train.gradients) {
    if (v.shape().is_full()) needs.gradients += static_cast<std::uint64_t>(v.shape().elements()) * 4;
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto program, CompiledModel::make(std::move(built), {.devices = chosen,
                                                                                     .session = {.devices = request},
                                                                                     .accumulate = accumulate}));
  ARGOSY_RETURN_IF_ERROR(program->initialize());
  ARGOSY_ASSIGN_OR_RETURN(const auto forecast, program->forecast(batch));
  for (const MemoryForecast& f : forecast) {
    const std::uint64_t planned = f.total_bytes() - f.dynamic_bytes;
    if (f.device.type != "GPU" || planned < needs.planned) continue;
    needs.planned = planned;
    needs.largest.clear();
    for (const auto& t : f.largest) needs.largest += str_cat(t.node, ": ", t.bytes, "; ");
  }
  return needs;
}

TEST_P(MemoryOfTurns, IsThatOfOneMicroBatch) {
  for (const int devices : {1, 2}) {
    const std::int64_t batch = (std::string(GetParam()) == "mlp" ? 8192 : 256) * devices;
    const auto whole = needs(GetParam(), devices, batch, 1), quarter = needs(GetParam(), devices, batch / 4, 1),
               turns = needs(GetParam(), devices, batch, 4);
    ASSERT_TRUE(whole.ok() && quarter.ok() && turns.ok()) << turns.status().to_string();
    std::printf("%s on %d: batch %lld %.2f MiB, in 4 turns %.2f MiB, batch / 4 %.2f MiB, gradients %.2f MiB\n",
                GetParam(), devices, static_cast<long long>(batch), whole->planned / 1048576.0,
                turns->planned / 1048576.0, quarter->planned / 1048576.0, quarter->gradients / 1048576.0);
    EXPECT_LE(static_cast<double>(turns->planned),
              1.1 * static_cast<double>(quarter->planned) + 2.0 * static_cast<double>(quarter->gradients))
        << turns->largest;
    EXPECT_LT(turns->planned, whole->planned);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryOfTurns, testing::Values("mlp", "lenet", "resnet", "autoencoder"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace argosy
