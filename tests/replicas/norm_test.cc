// Batch normalisation under data parallelism, all three versions of the op.
// - Statistics are per shard. On shards with equal rows, training equals that of one device with one shard's rows.
// - With moving averages or synchronised statistics it equals that of one device with all rows.
// - Empty shards change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/model/layers.h"
#include "argosy/train/model/optimizers.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

struct Network {
  Graph graph;
  Value x, target, loss, initializer, follow;  // the last: moving averages of the statistics
  TrainStep step;
  std::vector<VariableNode> variables;

  // "V3 NCHW": with channels first. "by hand, centred": examples are compared with the mean of all.
  // `parts`: as many shards of the rows have statistics of their own, in the graph itself.
  Network(const std::string& version, bool training, int parts = 1) {
    Layers net(graph, {.seed = 3});
    x = net.input("x", DType::kFloat32, {2, 2, 3});
    target = net.input("target", DType::kFloat32, {2, 2, 3});
    const VariableNode before = net.variable("before", {3}, ones_initializer());
    const VariableNode gamma = net.variable("gamma", {3}, ones_initializer());
    const VariableNode beta = net.variable("beta", {3}, zeros_initializer());
    const VariableNode mean = net.variable("mean", {3}, zeros_initializer(), false);
    const VariableNode variance = net.variable("variance", {3}, ones_initializer(), false);
    const Value none = constant(graph, Tensor::zeros(DType::kFloat32, {0}));
    const Value rows = square(x) * before.read;
    const bool first = version.ends_with("NCHW");
    const bool hand = version.starts_with("by hand");
    Value y = hand ? by_parts(rows, gamma.read, beta.read, parts)
                   : graph.add("FusedBatchNorm" + version.substr(0, version.find(' ')),
                               {first ? transpose(rows, {0, 3, 1, 2}) : rows, gamma.read, beta.read,
                                training ? none : mean.read, training ? none : variance.read},
                               {{"is_training", training}, {"data_format", first ? "NCHW" : "NHWC"}});
    std::vector<Value> follows;
    for (int i = 1; !hand && i < 3; ++i) {
      const VariableNode& average = i == 1 ? mean : variance;
      const Value now = training ? average.read : average.read * 0.5f;  // else they are what is given, and stay
      follows.push_back(graph.add("AssignSub", {average.ref, (now - y.output(i)) * 0.25f}));
    }
    follow = group(graph, follows, "follow");
    if (first) y = transpose(y, {0, 2, 3, 1});
    if (version.ends_with("centred")) y = y - reduce_mean(tanh(y), {0});
    loss = reduce_mean(reduce_sum(square(y - target), {1, 2, 3}));
    step = momentum(0.05, 0.9).minimize(loss, net.trainable());
    variables = net.variables();
    std::vector<Value> all;
    for (const VariableNode& v : variables) all.push_back(v.initializer);
    for (const VariableNode& v : step.slots) all.push_back(v.initializer);
    initializer = group(graph, all, "init");
  }

  Value by_parts(Value rows, Value gamma, Value beta, int parts) {
    if (parts == 1) return by_hand(rows, gamma, beta);
    const Value cut = graph.add("Split", {constant(graph, 0), rows}, {{"num_split", parts}});
    std::vector<Value> all;
    for (int k = 0; k < parts; ++k) all.push_back(by_hand(cut.output(k), gamma, beta));
    all.push_back(constant(graph, 0));
    return graph.add("ConcatV2", all, {{"N", parts}});
  }
  // As tf.nn.moments and tf.nn.batch_normalization write it. The gradient of gamma is made of what was summed over the
  // rows times a shard's own statistics.
  Value by_hand(Value rows, Value gamma, Value beta) {
    const Value mean = reduce_mean(rows, {0, 1, 2});
    const Value apart = graph.add("SquaredDifference", {rows, graph.add("StopGradient", {mean})});
    const Value scale = rsqrt(reduce_mean(apart, {0, 1, 2}) + 1e-3f) * gamma;
    return rows * scale + (beta - mean * scale);
  }
};

struct Outcome {
  std::vector<Tensor> losses, variables;
};

Tensor rows(const Tensor& t, std::int64_t copies) {
  std::vector<std::int64_t> sizes(t.shape().sizes().begin(), t.shape().sizes().end());
  sizes[0] *= copies;
  Tensor all = Tensor::zeros(t.dtype(), Shape(std::span<const std::int64_t>(sizes)));
  for (std::int64_t i = 0; i < all.elements(); ++i) all.data<float>()[i] = t.data<float>()[i % t.elements()];
  return all;
}

// Four steps of `batch` rows, each fed `copies` times.
Result<Outcome> train(Network& n, int devices, std::int64_t batch, std::int64_t copies, bool sync = false,
                      int accumulate = 1) {
  ARGOSY_RETURN_IF_ERROR(Status(n.graph.status()));
  DataParallelOptions options{
      .losses = {n.loss}, .train = {n.step.run, n.follow}, .sync_batch_norm = sync, .accumulate = accumulate};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(n.graph, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value loss, dp.fetch(n.loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(n.initializer)}));
  Outcome outcome;
  for (std::uint64_t step = 1; step <= 4; ++step) {
    const Feeds feeds = {
        {dp.input(n.x), rows(random_tensor(DType::kFloat32, {batch, 2, 2, 3}, step), copies)},
        {dp.input(n.target), rows(random_tensor(DType::kFloat32, {batch, 2, 2, 3}, step + 10), copies)}};
    ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run(feeds, {loss}, {dp.target(n.step.run), dp.target(n.follow)}));
    outcome.losses.push_back(out[0]);
  }
  std::vector<Value> reads;
  for (const VariableNode& v : n.variables) reads.push_back(dp.input(v.read));
  ARGOSY_ASSIGN_OR_RETURN(outcome.variables, session.run(reads));
  return outcome;
}

void expect_same(const Result<Outcome>& got, const Result<Outcome>& expected, const std::string& what) {
  ASSERT_TRUE(got.ok()) << what << ": " << got.status().to_string();
  ASSERT_TRUE(expected.ok()) << what << ": " << expected.status().to_string();
  for (std::size_t i = 0; i < expected->losses.size(); ++i) {
    EXPECT_TRUE(std::isfinite(*got->losses[i].data<float>())) << what;
    EXPECT_EQ(difference(got->losses[i], expected->losses[i], 1e-5), "") << what << ", loss of step " << i;
  }
  for (std::size_t i = 0; i < expected->variables.size(); ++i) {
    EXPECT_EQ(difference(got->variables[i], expected->variables[i], 1e-5), "") << what << ", variable " << i;
  }
}

TEST(DataParallelBatchNorm, TrainsByTheStatisticsOfEachShard) {
  for (const char* version : {"", "V2", "V3", "by hand"}) {
    Network n(version, true);
    const auto alone = train(n, 1, 5, 1);
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    for (std::size_t i = 0; i < 3; ++i) {  // before, gamma, beta
      const Tensor start = i == 2 ? Tensor::zeros(DType::kFloat32, {3}) : Tensor::vector<float>({1, 1, 1});
      EXPECT_NE(difference(alone->variables[i], start, 1e-6), "") << version << " variable " << i << " did not learn";
    }
    for (const int devices : {2, 4}) expect_same(train(n, devices, 5, devices), alone, str_cat(version, " ", devices));
    expect_same(train(n, 4, 1, 1), train(n, 1, 1, 1), str_cat(version, " three empty shards"));
  }
}

// With equal shards, and copies for each of them, gradients of the global batch would be the same.
TEST(DataParallelBatchNorm, GradientsOfAShardsStatisticsAreItsOwn) {
  Network n("by hand", true);
  for (const int devices : {2, 4}) {
    Network cut("by hand", true, devices);
    expect_same(train(n, devices, 8, 1), train(cut, 1, 8, 1), str_cat(devices, " devices"));
    expect_same(train(n, devices / 2, 8, 1, false, 2), train(cut, 1, 8, 1), str_cat(devices / 2, " devices, 2 turns"));
  }
}

// A step departs from one device by these statistics: the caller is told, however the graph writes them.
TEST(DataParallelBatchNorm, StatisticsOfEachShardAreTold) {
  const auto told = [](const std::string& version, bool training, bool sync) {
    Network n(version, training);
    const auto dp = DataParallel::make(n.graph, {.devices = {"/device:GPU:0", "/device:GPU:1"},
                                                 .losses = {n.loss},
                                                 .train = {n.step.run, n.follow},
                                                 .sync_batch_norm = sync});
    EXPECT_TRUE(dp.ok()) << version << ": " << dp.status().to_string();
    if (!dp.ok()) return false;
    const auto notes = dp->notes();
    return std::any_of(notes.begin(), notes.end(),
                       [](const ReplicationNote& note) { return note.kind == ReplicationNote::Kind::kStatistics; });
  };
  for (const char* version : {"", "V2", "V3", "V3 NCHW", "by hand"}) {
    EXPECT_TRUE(told(version, true, false)) << version;
    EXPECT_FALSE(told(version, true, true)) << version << ", synchronised";
  }
  EXPECT_FALSE(told("V3", false, false)) << "the statistics are given";
  EXPECT_FALSE(told("by hand, centred", true, false)) << "they are the global batch's";
}

TEST(DataParallelBatchNorm, ByMovingAveragesEveryBatchAgrees) {
  for (const char* version : {"", "V2", "V3"}) {
    Network n(version, false);
    for (const std::int64_t batch : {1, 3, 8}) {
      const auto alone = train(n, 1, batch, 1);
      for (const int devices : {2, 4}) expect_same(train(n, devices, batch, 1), alone, str_cat(version, " ", devices));
    }
  }
}

TEST(DataParallelBatchNorm, SynchronisedItIsThatOfTheGlobalBatch) {
  for (const char* version : {"", "V2", "V3", "V3 NCHW", "by hand"}) {
    Network n(version, true);
    for (const std::int64_t batch : {2, 7}) {  // of 2, two of four devices have nothing
      const auto alone = train(n, 1, batch, 1);
      for (const int devices : {2, 3, 4}) {
        expect_same(train(n, devices, batch, 1, true), alone, str_cat(version, " ", devices, " sync"));
      }
    }
  }
}

// Training goes through another number of the global batch: gradients of shards' own statistics are not told from it.
TEST(DataParallelBatchNorm, BesideATrainedNumberOfTheGlobalBatchItIsGlobal) {
  Network n("by hand, centred", true);
  for (const std::int64_t batch : {2, 7}) {
    const auto alone = train(n, 1, batch, 1);
    for (const int devices : {2, 3}) expect_same(train(n, devices, batch, 1), alone, str_cat(devices, " devices"));
  }
}

TEST(DataParallelBatchNorm, MicroBatchesHaveStatisticsOfTheirOwn) {
  for (const char* version : {"", "V2", "V3", "by hand"}) {
    Network n(version, true);
    const auto alone = train(n, 1, 5, 1);
    expect_same(train(n, 1, 5, 4, false, 4), alone, str_cat(version, " in turns"));
    expect_same(train(n, 2, 5, 4, false, 2), alone, str_cat(version, " in turns of two devices"));
  }
  Network n("V3", true);
  const auto dp = DataParallel::make(
      n.graph, {.devices = {"/device:GPU:0"}, .losses = {n.loss}, .train = {n.step.run}, .accumulate = 2});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  ASSERT_FALSE(dp->notes().empty());
  for (const ReplicationNote& note : dp->notes()) {
    EXPECT_EQ(note.kind, ReplicationNote::Kind::kStatistics);
    EXPECT_NE(note.text.find("each micro-batch"), std::string::npos) << note.text;
  }
}

// All turns go forward before one goes back: each waits for the others' statistics.
TEST(DataParallelBatchNorm, SynchronisedMicroBatchesRunSideBySide) {
  for (const char* version : {"", "V2", "V3", "V3 NCHW", "by hand"}) {
    Network n(version, true);
    for (const std::int64_t batch : {2, 7}) {
      const auto alone = train(n, 1, batch, 1);
      expect_same(train(n, 1, batch, 1, true, 3), alone, str_cat(version, " sync in turns"));
      expect_same(train(n, 2, batch, 1, true, 2), alone, str_cat(version, " sync in turns of two devices"));
    }
  }
  Network n("V3", true);
  const auto dp = DataParallel::make(n.graph, {.devices = {"/device:GPU:0"},
                                               .losses = {n.loss},
                                               .train = {n.step.run},
                                               .sync_batch_norm = true,
                                               .accumulate = 2});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto notes = dp->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const ReplicationNote& note) {
    return note.kind == ReplicationNote::Kind::kMemory;
  })) << dp->summary();
}

}  // namespace
}  // namespace argosy
