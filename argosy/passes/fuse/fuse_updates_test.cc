#include "argosy/passes/fuse/fuse_updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/optimizer/optimizer.h"
#include "argosy/passes/optimize.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

// Variables of several sizes, a gradient for each, and one node that waits for all updates.
struct Task {
  Graph graph;
  std::vector<VariableNode> variables;
  Value train;

  Tensor numbers(const Shape& shape, int seed) {
    Tensor t = Tensor::zeros(DType::kFloat32, shape);
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      t.data<float>()[i] = static_cast<float>((i * 37 + seed * 101) % 199 + 1) / 200;
    }
    return t;
  }

  Task(const std::string& rule, VariableKind kind, const std::vector<Shape>& shapes) {
    Value lr = constant(graph, 0.01f), beta = constant(graph, 0.9f), epsilon = constant(graph, 1e-3f);
    std::vector<Value> updates;
    int seed = 0;
    for (const Shape& shape : shapes) {
      const auto make = [&](const char* name) {
        variables.push_back(variable(graph, numbers(shape, ++seed), name, {.kind = kind}));
        return variables.back();
      };
      const VariableNode w = make("w");
      const Value grad = constant(graph, numbers(shape, ++seed));
      if (rule == "sgd") updates.push_back(apply_gradient_descent(w, lr, grad));
      if (rule == "nesterov") updates.push_back(apply_momentum(w, make("accum"), lr, grad, beta, true));
      if (rule == "adagrad") {  // of which one attribute is true unless it is said
        const VariableNode accum = make("accum");
        updates.push_back(graph.add(w.is_resource() ? "ResourceApplyAdagrad" : "ApplyAdagrad",
                                    {w.ref, accum.ref, lr, grad}, {{"update_slots", false}}));
      }
      if (rule == "adam") {
        updates.push_back(apply_adam(w, make("m"), make("v"), beta, beta, lr, beta, beta, epsilon, grad));
      }
    }
    for (Value& u : updates) u = u.control();
    train = graph.add("NoOp", updates, {}, "train");
  }

  std::vector<Tensor> values_after(const Graph& stepping, Endpoint step) {
    ResourceManager resources;
    std::vector<Endpoint> first, reads;
    for (const VariableNode& v : variables) {
      first.push_back(v.initializer.endpoint());
      reads.push_back(v.read.endpoint());
    }
    EXPECT_TRUE(evaluate(graph, {}, first, {.resources = &resources}).ok());
    for (int i = 0; i < 3; ++i) {
      const auto done = evaluate(stepping, {}, {step}, {.resources = &resources});
      EXPECT_TRUE(done.ok()) << done.status().to_string();
    }
    auto values = evaluate(graph, {}, reads, {.resources = &resources});
    EXPECT_TRUE(values.ok()) << values.status().to_string();
    return *std::move(values);
  }
};

std::map<std::string, int> ops_of(const Graph& g) {
  std::map<std::string, int> ops;
  for (const Node& n : g.nodes()) ++ops[n.op->name];
  return ops;
}

StepGraph fused(Task& task) {
  auto step = prune_step(task.graph, {.targets = {task.train.node()}});
  EXPECT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_TRUE(fuse_updates(*step).ok());
  const Status dropped = remove_unused_nodes(*step);
  EXPECT_TRUE(dropped.ok()) << dropped.to_string();
  return *std::move(step);
}

TEST(FuseUpdates, TheSameNumbersInOneOp) {
  for (const char* rule : {"sgd", "nesterov", "adagrad", "adam"}) {
    for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
      Task task(rule, kind, {{3, 5}, {7}, {}, {100, 120}, {90, 160}, {0}});
      ASSERT_TRUE(task.graph.status().ok()) << task.graph.status().to_string();
      const StepGraph one = fused(task);
      SCOPED_TRACE(rule);
      EXPECT_THAT(ops_of(one.graph), testing::Contains(testing::Pair(testing::EndsWith("ApplyMany"), 1)));
      for (const Node& n : one.graph.nodes()) EXPECT_THAT(n.op->name, testing::Not(testing::StartsWith("Apply")));
      const auto want = task.values_after(task.graph, task.train.endpoint());
      const auto got = task.values_after(one.graph, {one.targets[0], Value::kControl});
      ASSERT_EQ(want.size(), got.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(std::memcmp(want[i].raw(), got[i].raw(), want[i].bytes()), 0) << i;
      }
    }
  }
}

// What is updated after another update, read afterwards, or large stays on its own.
TEST(FuseUpdates, OrderAndLargeVariablesStay) {
  Task task("sgd", VariableKind::kReference, {{3}, {4}, {128, 128}});
  const Value lr = constant(task.graph, 0.01f);
  Value late;
  {
    const auto after = task.graph.control_dependencies({task.train});
    late = apply_gradient_descent(task.variables[0], lr, constant(task.graph, task.numbers({3}, 9)));
  }
  auto step = prune_step(task.graph, {.targets = {late.node()}});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(*fuse_updates(*step), 2);
  const Status dropped = remove_unused_nodes(*step);
  ASSERT_TRUE(dropped.ok()) << dropped.to_string();
  const auto ops = ops_of(step->graph);
  EXPECT_EQ(ops.at("_ApplyMany"), 1);
  EXPECT_EQ(ops.at("ApplyGradientDescent"), 2);
}

// A launch costs more than a cache does: large ones go together too, up to a bound on what is kept alive for them.
TEST(FuseUpdates, WhereWorkIsOnlyStartedLargeVariablesJoin) {
  const auto fused_on = [](bool starts, const std::vector<Shape>& shapes) {
    Task task("sgd", VariableKind::kReference, shapes);
    auto step = prune_step(task.graph, {.targets = {task.train.node()}});
    EXPECT_TRUE(step.ok()) << step.status().to_string();
    const int count = *fuse_updates(*step, [&](const std::string&) { return starts; });
    EXPECT_TRUE(remove_unused_nodes(*step).ok());
    const auto ops = ops_of(step->graph);
    return std::pair{count, ops.contains("_ApplyMany") ? ops.at("_ApplyMany") : 0};
  };
  const std::vector<Shape> shapes = {{3}, {128, 128}, {4}, {1000, 300}};
  EXPECT_EQ(fused_on(false, shapes), (std::pair{2, 1}));
  EXPECT_EQ(fused_on(true, shapes), (std::pair{4, 1}));
  // 5 x 8 MB are more than 32 MiB together; 36 MB alone are, too, and do not part the others.
  EXPECT_EQ(fused_on(true, {{2000, 1000}, {2000, 1000}, {2000, 1000}, {2000, 1000}, {2000, 1000}, {3}}),
            (std::pair{6, 2}));
  EXPECT_EQ(fused_on(true, {{3}, {3000, 3000}, {4}}), (std::pair{2, 1}));
}

// In one branch there may be an update that the other branch does not make.
TEST(FuseUpdates, ControlFlowIsLeftAlone) {
  Task task("sgd", VariableKind::kReference, {{3}, {4}});
  const Value taken = task.graph.add("Switch", {constant(task.graph, 1.0f), constant(task.graph, true)});
  auto step = prune_step(task.graph, {.fetches = {taken.endpoint()}, .targets = {task.train.node()}});
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_EQ(*fuse_updates(*step), 0);
}

TEST(FuseUpdates, ErrorsNameTheVariable) {
  Task task("sgd", VariableKind::kReference, {{3}, {4}});
  const StepGraph one = fused(task);
  const auto failed = evaluate(one.graph, {}, {{one.targets[0], Value::kControl}});
  EXPECT_EQ(failed.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(failed.status().message(), testing::HasSubstr("w"));
}

Result<int> fuse_small_updates(StepGraph& step) { return fuse_updates(step); }

TEST(FuseUpdates, UpdatesOfOneRateShareANode) {
  expect_rewrite(fuse_small_updates, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {0.5}]
    dv = Placeholder [dtype=float, shape=shape[2]]
    dw = Placeholder [dtype=float, shape=shape[3]]
    one = ApplyGradientDescent(v, rate, dv)
    two = ApplyGradientDescent(w, rate, dw)
    train = NoOp(^one, ^two)
    -> ^train)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {0.5}]
    dv = Placeholder [dtype=float, shape=shape[2]]
    dw = Placeholder [dtype=float, shape=shape[3]]
    two = _ApplyMany(v, w, rate, dv, dw) [T=float, M=3, N=2, op="ApplyGradientDescent"]
    train = NoOp(^two)
    -> ^train)");
}

TEST(FuseUpdates, UpdatesOfDifferentRatesAreLeftAlone) {
  expect_left_alone(fuse_small_updates, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {0.5}]
    other = Const [dtype=float, value=float[] {0.25}]
    dv = Placeholder [dtype=float, shape=shape[2]]
    dw = Placeholder [dtype=float, shape=shape[3]]
    one = ApplyGradientDescent(v, rate, dv)
    two = ApplyGradientDescent(w, other, dw)
    train = NoOp(^one, ^two)
    -> ^train)");
}

// What the first update lets go, the second may wait for.
TEST(FuseUpdates, UpdatesWithAQueueBetweenThemAreLeftAlone) {
  expect_left_alone(fuse_small_updates, R"(
    q = FIFOQueueV2 [component_types=[float], shapes=[shape[3]]]
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {0.5}]
    dv = Placeholder [dtype=float, shape=shape[2]]
    x = Placeholder [dtype=float, shape=shape[3]]
    one = ApplyGradientDescent(v, rate, dv)
    put = QueueEnqueueV2(q, x, ^one) [Tcomponents=[float]]
    dw = QueueDequeueV2(q) [component_types=[float]]
    two = ApplyGradientDescent(w, rate, dw)
    train = NoOp(^one, ^two, ^put)
    -> ^train)");
}

// Sums are updates at a rate of -1, where a launch costs more than it computes.
TEST(FuseUpdates, SumsShareANodeOnAsynchronousDevices) {
  expect_rewrite([](StepGraph& step) { return fuse_updates(step, [](const std::string&) { return true; }); }, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    dv = Placeholder [dtype=float, shape=shape[2]]
    dw = Placeholder [dtype=float, shape=shape[3]]
    one = AssignAdd(v, dv)
    two = AssignAdd(w, dw)
    -> ^one, ^two)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    w = VariableV2 [dtype=float, shape=shape[3]]
    dv = Placeholder [dtype=float, shape=shape[2]]
    dw = Placeholder [dtype=float, shape=shape[3]]
    one/rate = Const [dtype=float, value=float[] {-1}]
    two = _ApplyMany(v, w, one/rate, dv, dw) [T=float, M=3, N=2, op="ApplyGradientDescent"]
    -> ^two, ^two)");
}

}  // namespace
}  // namespace argosy
