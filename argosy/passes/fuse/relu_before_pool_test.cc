#include "argosy/passes/fuse/relu_before_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

struct Task {
  Graph graph;
  Value x, dy, pool_gradient, dx;

  Task(std::int64_t window, std::int64_t stride) {
    const std::vector<std::int64_t> size = {1, window, window, 1}, strides = {1, stride, stride, 1};
    const AttrMap attrs{{"ksize", size}, {"strides", strides}, {"padding", "SAME"}};
    const auto fed = [&](const PartialShape& shape, const char* name) {
      return graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", shape}}, name);
    };
    const std::int64_t out = (9 + stride - 1) / stride;
    x = fed(Shape{2, 9, 9, 3}, "x");
    dy = fed(Shape{2, out, out, 3}, "dy");
    const Value y = graph.add("MaxPool", {x}, attrs);
    pool_gradient = graph.add("MaxPoolGrad", {x, y, dy}, attrs);
    dx = graph.add("ReluGrad", {pool_gradient, x});
  }
  StepGraph step(const std::vector<Value>& fetches) const {
    StepSignature signature;
    for (const Value& v : fetches) signature.fetches.push_back(v.endpoint());
    auto made = prune_step(graph, signature);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }
};

Tensor numbers(const PartialShape& shape, int seed) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape.full().value());
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    // Many ties, zeros and negative numbers.
    t.data<float>()[i] = static_cast<float>((i * 7919 + seed * 31) % 11 - 5) / 2;
  }
  return t;
}

TEST(ReluBeforePool, TheSameNumbersWithWindowsApartAndOverlapping) {
  for (const auto& [window, stride] : {std::pair{2, 2}, std::pair{3, 2}, std::pair{3, 1}}) {
    Task task(window, stride);
    ASSERT_TRUE(task.graph.status().ok()) << task.graph.status().to_string();
    const StepGraph plain = task.step({task.dx});
    StepGraph swapped = task.step({task.dx});
    EXPECT_EQ(*relu_before_pool(swapped), 0);  // what is fetched is left alone
    task.dx = task.graph.add("Neg", {task.dx});
    StepGraph other = task.step({task.dx});
    EXPECT_EQ(*relu_before_pool(other), 1);
    const Status dropped = remove_unused_nodes(other);
    ASSERT_TRUE(dropped.ok()) << dropped.to_string();
    EXPECT_EQ(other.graph.size(), plain.graph.size() + 1);
    const auto run = [&](const StepGraph& step) {
      std::unordered_map<Endpoint, Tensor> feeds;
      feeds[{*step.graph.find("x"), 0}] = numbers(task.x.shape(), 1);
      feeds[{*step.graph.find("dy"), 0}] = numbers(task.dy.shape(), 2);
      auto values = evaluate(step.graph, feeds, step.fetches);
      EXPECT_TRUE(values.ok()) << values.status().to_string();
      return (*values)[0];
    };
    const Tensor want = run(task.step({task.dx})), got = run(other);
    for (std::int64_t i = 0; i < want.elements(); ++i) ASSERT_EQ(want.data<float>()[i], got.data<float>()[i]) << i;
  }
}

// The gradient of the pooling itself is asked for: it stays what it is.
TEST(ReluBeforePool, OtherReadersForbidIt) {
  Task task(2, 2);
  const Value both = task.graph.add("AddV2", {task.dx, task.pool_gradient});
  StepGraph step = task.step({both});
  EXPECT_EQ(*relu_before_pool(step), 0);
}

TEST(ReluBeforePool, TheReluMovesToThePooledSide) {
  expect_rewrite(relu_before_pool, R"(
    x = Placeholder [dtype=float, shape=shape[2,8,8,3]]
    dy = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    y = MaxPool(x) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    pool = MaxPoolGrad(x, y, dy) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    relu = ReluGrad(pool, x)
    dx = Neg(relu)
    -> dx)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,8,8,3]]
    dy = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    y = MaxPool(x) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    relu/pooled = ReluGrad(dy, y)
    pool = MaxPoolGrad(x, y, relu/pooled) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    dx = Neg(pool)
    -> dx)");
}

// The gradient finds the maxima in x, whatever y says.
TEST(ReluBeforePool, APooledImageOfElsewhereIsLeftAlone) {
  for (const char* y : {"Placeholder [dtype=float, shape=shape[2,4,4,3]]",
                        "MaxPool(other) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=\"SAME\"]",
                        "MaxPool(x) [ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding=\"SAME\"]"}) {
    expect_left_alone(relu_before_pool, str_cat(R"(
    x = Placeholder [dtype=float, shape=shape[2,8,8,3]]
    other = Placeholder [dtype=float, shape=shape[2,8,8,3]]
    dy = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    y = )",
                                                y, R"(
    pool = MaxPoolGrad(x, y, dy) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    relu = ReluGrad(pool, x)
    dx = Neg(relu)
    -> dx)"));
  }
}

TEST(ReluBeforePool, APoolingGradientThatIsFetchedIsLeftAlone) {
  expect_left_alone(relu_before_pool, R"(
    x = Placeholder [dtype=float, shape=shape[2,8,8,3]]
    dy = Placeholder [dtype=float, shape=shape[2,4,4,3]]
    y = MaxPool(x) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    pool = MaxPoolGrad(x, y, dy) [ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"]
    relu = ReluGrad(pool, x)
    dx = Neg(relu)
    -> dx, pool)");
}

}  // namespace
}  // namespace argosy
