#include "argosy/passes/fuse/fuse_softmax_gradient.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

bool everywhere(const std::string&) { return true; }

struct Task {
  Graph graph;
  Value x, dy, y, dx;

  explicit Task(bool logarithm, const PartialShape& shape = Shape{2, 3}) {
    x = placeholder(graph, DType::kFloat32, shape, "x");
    dy = placeholder(graph, DType::kFloat32, shape, "dy");
    y = logarithm ? log_softmax(x) : softmax(x);
    dx = gradients(graph, {y}, {x}, {.grad_ys = {dy}})[0];
  }
  StepGraph step(const std::vector<Value>& fetches) const {
    EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
    StepSignature signature;
    for (const Value& v : fetches) signature.fetches.push_back(v.endpoint());
    auto made = prune_step(graph, signature);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }
};

std::vector<Tensor> run(const StepGraph& step) {
  std::unordered_map<Endpoint, Tensor> feeds;
  for (int i = 0; i < step.graph.size(); ++i) {
    const std::string& name = step.graph.node(NodeId{i}).name;
    if (name == "x") feeds[{NodeId{i}, 0}] = Tensor::of<float>({2, 3}, {1, 2, -1, 0.5, 0, 3});
    if (name == "dy") feeds[{NodeId{i}, 0}] = Tensor::of<float>({2, 3}, {0.5, -2, 1, 3, 0.25, -1});
  }
  const auto out = evaluate(step.graph, feeds, step.fetches);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *out : std::vector<Tensor>();
}

TEST(FuseSoftmaxGradient, TheSameNumbersFromOneNode) {
  for (const bool logarithm : {false, true}) {
    SCOPED_TRACE(logarithm);
    const Task task(logarithm);
    StepGraph fused = task.step({task.dx});
    EXPECT_EQ(*fuse_softmax_gradient(fused, everywhere), 1);
    const Status dropped = remove_unused_nodes(fused);
    ASSERT_TRUE(dropped.ok()) << dropped.to_string();
    EXPECT_EQ(fused.graph.size(), 4);  // x, dy, softmax, its gradient
    const auto expected = run(task.step({task.dx})), found = run(fused);
    ASSERT_EQ(found.size(), 1U);
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(found[0].data<float>()[i], expected[0].data<float>()[i], 1e-6);
  }
}

TEST(FuseSoftmaxGradient, LeavesAloneWhatItMust) {
  Task task(false);
  StepGraph elsewhere = task.step({task.dx});
  EXPECT_EQ(*fuse_softmax_gradient(elsewhere, nullptr), 0);
  EXPECT_EQ(*fuse_softmax_gradient(elsewhere, [](const std::string&) { return false; }), 0);
  // Somebody looks at the difference in between.
  const Endpoint between = task.graph.node(task.dx.node()).inputs[0];
  StepGraph preserved = task.step({task.dx, task.graph.value(between)});
  EXPECT_EQ(*fuse_softmax_gradient(preserved, everywhere), 0);
  // Rows whose number is not known may be repeated.
  const Task open(false, PartialShape({-1, 3}));
  StepGraph unknown = open.step({open.dx});
  EXPECT_EQ(*fuse_softmax_gradient(unknown, everywhere), 0);
}

// A sum over another axis, or one that forgets it, is no softmax's.
TEST(FuseSoftmaxGradient, OtherSumsAreNotASoftmaxs) {
  for (const int axis : {0, 1}) {
    Task task(false, Shape{3, 3});
    Graph& g = task.graph;
    const Value sum = g.add("Sum", {task.dy * task.y, constant(g, axis)}, {{"keep_dims", axis == 0}});
    const Value other = (task.dy - sum) * task.y;
    StepGraph step = task.step({other});
    EXPECT_EQ(*fuse_softmax_gradient(step, everywhere), 0) << axis;
  }
}

Result<int> on_async_devices(StepGraph& step) {
  return fuse_softmax_gradient(step, [](const std::string&) { return true; });
}

TEST(FuseSoftmaxGradient, FourNodesBecomeOne) {
  expect_rewrite(on_async_devices, R"(
    x = Placeholder [dtype=float, shape=shape[2,5]]
    dy = Placeholder [dtype=float, shape=shape[2,5]]
    last = Const [dtype=int32, value=int32[1] {-1}]
    y = Softmax(x)
    product = Mul(dy, y)
    sum = Sum(product, last) [keep_dims=true]
    difference = Sub(dy, sum)
    dx = Mul(difference, y)
    -> dx)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,5]]
    dy = Placeholder [dtype=float, shape=shape[2,5]]
    y = Softmax(x)
    dx = _SoftmaxGrad(y, dy)
    -> dx)");
}

TEST(FuseSoftmaxGradient, SumsThatOthersReadAreLeftAlone) {
  expect_left_alone(on_async_devices, R"(
    x = Placeholder [dtype=float, shape=shape[2,5]]
    dy = Placeholder [dtype=float, shape=shape[2,5]]
    last = Const [dtype=int32, value=int32[1] {-1}]
    y = Softmax(x)
    product = Mul(dy, y)
    sum = Sum(product, last) [keep_dims=true]
    difference = Sub(dy, sum)
    dx = Mul(difference, y)
    -> dx, sum)");
}

}  // namespace
}  // namespace argosy
