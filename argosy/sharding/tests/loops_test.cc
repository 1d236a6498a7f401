// Loops and conditionals on virtual devices: layouts reach a fixed point, all devices go the same way, gradients of
// loops are those of one device.
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/passes/functions/lower_functions.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/tests/training_trial_test.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

const std::vector<std::int64_t> kBatches = {8, 7, 3, 1, 16};

void expect_equal(const TrainingTrial& t) {
  for (const int devices : {2, 3, 8}) {
    const TrialResult result = run_trial(t, {.axis = {.name = "data", .size = devices}, .batches = kBatches});
    EXPECT_EQ(result.wrong, "") << devices << " devices";
    EXPECT_GT(result.compared, 20);
  }
}

TEST(ShardingLoops, CarryShardsSumsAndWholeValues) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  const Value start = constant(g, Tensor::zeros(DType::kFloat64, {4}));
  const Value rows = DataflowLoop(
                         g, x, [](Value v) { return tanh(v) + 0.5; }, "rows")
                         .out;
  const Value sums =
      DataflowLoop(
          g, start, [&](Value v) { return v + reduce_sum(DataflowLoop::enter(g, x, "sums"), {0}); }, "sums")
          .out;
  const Value roots =
      DataflowLoop(
          g, start, [&](Value v) { return sqrt(v + reduce_sum(DataflowLoop::enter(g, x, "roots"), {0})); }, "roots")
          .out;
  t.feeds = {x};
  t.fetches = {rows, sums, roots};
  expect_equal(t);
}

// A node other than a Merge that read the end of an iteration would wait for the next one.
TEST(ShardingLoops, NothingIsReshardedBehindTheEndOfAnIteration) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  const Value whole = g.add("MatrixBandPart", {x, constant(g, std::int64_t{0}), constant(g, std::int64_t{1})});
  const DataflowLoop loop(
      g, x, [&](Value) { return DataflowLoop::enter(g, whole, "rows"); }, "rows");
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto sizes = Sizes::find(g, {.batch = {x.node()}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  const auto rules = RuleTable::make(g, *sizes);
  ASSERT_TRUE(rules.ok()) << rules.status().to_string();
  const Mesh mesh{.axes = {{.name = "data", .size = 2}}, .devices = {"/device:GPU:0", "/device:GPU:1"}};
  const auto assigned = resolve(g, *sizes, *rules, mesh, {.seeds = shard_feeds({x.node()}, 0)});
  ASSERT_TRUE(assigned.ok()) << assigned.status().to_string();
  EXPECT_TRUE(assigned->layouts[static_cast<std::size_t>(loop.merged.node().index)][0][0].is_shard());
  EXPECT_TRUE(assigned->layouts[static_cast<std::size_t>(whole.node().index)][0][0].is_replicate());
  for (const Reshard& r : assigned->reshards) {
    EXPECT_NE(g.node(r.value.node).op->flow, Flow::kNextIteration) << g.node(r.value.node).name;
  }
}

TEST(ShardingLoops, DevicesGoTheSameWay) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  const Value mean = reduce_mean(x);
  // One device alone would see another mean, and go another way.
  const Value large = greater(mean, 0.55);
  const Value sides = g.add("Switch", {x, large});
  const Value merged = g.add("Merge", {sides.output(0) - reduce_mean(sides.output(0), {0}), exp(sides.output(1))});
  t.feeds = {x};
  t.fetches = {merged, reduce_sum(merged), identity(merged.output(1))};
  expect_equal(t);
}

// The trial with its functions lowered: pruned to what it runs, feeds as arguments.
TrainingTrial lowered(const TrainingTrial& t) {
  StepSignature signature;
  for (const Value& v : t.feeds) {
    signature.feeds.push_back(v.endpoint());
    signature.feed_shapes.push_back(v.shape());
  }
  for (const Value& v : t.fetches) signature.fetches.push_back(v.endpoint());
  signature.targets = t.train;
  for (const VariableNode& v : t.variables) signature.targets.push_back(v.initializer.node());
  auto step = prune_step(t.graph, signature);
  EXPECT_TRUE(step.ok()) << step.status().to_string();
  const auto changed = lower_functions(*step);
  EXPECT_TRUE(changed.ok()) << changed.status().to_string();
  EXPECT_GT(*changed, 0);
  EXPECT_TRUE(remove_unused_nodes(*step).ok());
  TrainingTrial low;
  low.graph = std::move(step->graph);
  for (const NodeId id : step->feeds) low.feeds.emplace_back(&low.graph, id, 0);
  for (const Endpoint e : step->fetches) low.fetches.push_back(low.graph.value(e));
  low.train.assign(step->targets.begin(), step->targets.begin() + std::ssize(t.train));
  for (std::size_t i = 0; i < t.variables.size(); ++i) {
    VariableNode v = t.variables[i];
    v.initializer = Value(&low.graph, step->targets[t.train.size() + i], 0);
    v.ref = low.graph.value({*low.graph.find(v.ref.node_name()), 0});
    low.variables.push_back(v);
  }
  return low;
}

void add_training(TrainingTrial& t, const Value& loss) {
  std::vector<Value> of;
  for (const VariableNode& v : t.variables) of.push_back(v.ref);
  const std::vector<Value> grads = gradients(t.graph, {loss}, of);
  std::vector<Value> updates;
  for (std::size_t i = 0; i < of.size(); ++i) {
    updates.push_back(t.graph.add("ApplyGradientDescent", {of[i], constant(t.graph, 0.1), grads[i]}));
  }
  t.train = {group(t.graph, updates, "train").node()};
  t.fetches = {loss};
}

TEST(ShardingLoops, GradientsThroughALoop) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  t.variables = {variable(g, random_tensor(DType::kFloat64, {4, 4}, 3), "w")};
  const Value w = t.variables[0].read;
  const auto last = while_loop(
      {constant(g, 0), x}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector{v[0] + 1, tanh(matmul(v[1], w))};
      });
  t.feeds = {x};
  add_training(t, reduce_mean(square(last[1])));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  expect_equal(lowered(t));
}

TEST(ShardingLoops, GradientsThroughAConditional) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  t.variables = {variable(g, random_tensor(DType::kFloat64, {4, 4}, 3), "w")};
  const Value h = matmul(x, t.variables[0].read);
  const Value y = cond_value(
      greater(reduce_mean(h), 0.0), [&] { return tanh(h); }, [&] { return h - reduce_mean(h, {0}); });
  t.feeds = {x};
  add_training(t, reduce_mean(square(y)));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  expect_equal(lowered(t));
}

// One branch takes a sum as it is, the other one needs it whole: added up in that branch, it may not travel with gradients.
// In a branch that is not taken they would be dead with it, and no variable would be updated.
TEST(ShardingLoops, ASumInABranchDoesNotTravelWithGradients) {
  TrainingTrial t;
  Graph& g = t.graph;
  const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
  t.variables = {variable(g, random_tensor(DType::kFloat64, {4, 1}, 3), "w")};
  const Value h = matmul(x, t.variables[0].read);
  const Value sum = reduce_sum(h);
  const Value y = cond_value(
      less(g.add("Size", {x}), 30), [&] { return sum * 0.5; }, [&] { return tanh(sum); });
  t.feeds = {x};
  t.fetches = {y};
  add_training(t, reduce_mean(square(h)));
  t.train.push_back(y.node());
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  for (const std::int64_t batch : {4, 7, 8, 13}) {  // both ways
    EXPECT_EQ(run_lowered(lowered(t), {.axis = {.name = "data", .size = 2}, .batches = {batch, batch}}), "") << batch;
  }
}

}  // namespace
}  // namespace argosy
