#include "argosy/sharding/sizes/shape_walk.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {
namespace {

// x [batch, length, 3], in a branch and beside it.
struct Branch {
  Graph graph;
  Value x, p, inside;

  Branch() {
    x = placeholder(graph, DType::kFloat32, {-1, -1, 3}, "x");
    p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
    inside = graph.add("Switch", {x, p}).output(1);
  }
  Result<InferredShapes> infer(std::int64_t batch, std::int64_t length) {
    const OutputIndex index(graph);
    const PartialShape shape = {batch, length, 3};
    return infer_shapes(graph, index, graph.topological_order().value(), {{x.node(), shape}}, batch);
  }
  PartialShape shape_of(const InferredShapes& found, const Value& v) const {
    return found.shapes[OutputIndex(graph)(v.endpoint())];
  }
};

Value squeezed(Graph& g, const Value& x) {
  return g.add("Squeeze", {x}, {{"squeeze_dims", std::vector<std::int64_t>{1}}});
}

TEST(ShapeWalk, WhatFitsForNoBatchInABranchIsUnknown) {
  Branch b;
  const Value squeeze = squeezed(b.graph, b.inside), sum = reduce_sum(b.x, {1});
  ASSERT_TRUE(b.graph.status().ok()) << b.graph.status().to_string();
  const auto one = b.infer(8, 1), five = b.infer(8, 5);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(b.shape_of(*one, squeeze), (PartialShape{8, 3}));
  ASSERT_TRUE(five.ok()) << five.status().to_string();
  EXPECT_FALSE(b.shape_of(*five, squeeze).has_rank());
  EXPECT_EQ(b.shape_of(*five, sum), (PartialShape{8, 3}));
}

TEST(ShapeWalk, WhatEveryStepReachesHasToFit) {
  Branch b;
  squeezed(b.graph, b.x);
  EXPECT_TRUE(b.infer(8, 1).ok());
  EXPECT_FALSE(b.infer(8, 5).ok());
}

// It runs with eight examples, and not with a shard of them.
TEST(ShapeWalk, WhatFitsForAnotherBatchIsAnError) {
  Branch b;
  reshape(b.inside, {8, 15});
  ASSERT_TRUE(b.graph.status().ok()) << b.graph.status().to_string();
  EXPECT_TRUE(b.infer(8, 5).ok());
  EXPECT_FALSE(b.infer(4, 5).ok());
}

}  // namespace
}  // namespace argosy
