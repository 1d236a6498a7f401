#include "argosy/sharding/sizes/sizes.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

Result<Sizes> sizes_of(const Graph& g, const std::vector<Value>& batch, std::optional<std::int64_t> exactly = {}) {
  SizesRequest request{.exactly = exactly};
  for (const Value& v : batch) request.batch.push_back(v.node());
  return Sizes::find(g, request);
}

TEST(Sizes, AreFunctionsOfTheBatchElementByElement) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 6}, "x");
  const Value flat = reshape(x, {-1, 3});
  const Value longer = concat({x, x, constant(g, Tensor::zeros(DType::kFloat32, {1, 6}))}, 0);
  const Value shapes = shape(longer), count = size(x), half = floor_div(count, 4);
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(x.endpoint(), 0), (BatchSize{1, 0}));
  EXPECT_EQ(sizes->dim(x.endpoint(), 1), (BatchSize{0, 6}));
  EXPECT_EQ(sizes->dim(flat.endpoint(), 0), (BatchSize{2, 0}));
  EXPECT_EQ(sizes->element(shapes.endpoint(), 0), (BatchSize{2, 1}));
  EXPECT_EQ(sizes->element(shapes.endpoint(), 1), (BatchSize{0, 6}));
  EXPECT_EQ(sizes->element(count.endpoint(), 0), (BatchSize{6, 0}));
  EXPECT_EQ(sizes->shape(longer.endpoint(), 5), (PartialShape{11, 6}));
  EXPECT_EQ(sizes->bytes(longer.endpoint(), 5), 11.0 * 6 * 4);
  EXPECT_TRUE(sizes->covers(2));
  EXPECT_FALSE(sizes->covers(1));
  // 6 * batch / 4, rounded down, is no such function: unknown, not wrong.
  EXPECT_EQ(sizes->element(half.endpoint(), 0), std::nullopt);
}

TEST(Sizes, WhatDoesNotGrowForEverIsUnknown) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 6}, "x");
  const Value count = slice(shape(x), {0}, {1});
  const Value capped = minimum(count, 100), floored = maximum(count, 1), rest = floor_mod(count, 4);
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->element(capped.endpoint(), 0), std::nullopt);
  EXPECT_EQ(sizes->element(floored.endpoint(), 0), (BatchSize{1, 0}));
  EXPECT_EQ(sizes->element(rest.endpoint(), 0), std::nullopt);
}

// A graph that needs five examples says nothing of fewer.
TEST(Sizes, SmallBatchesThatDoNotFitAreNotCovered) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 6}, "x");
  slice(x, {0, 0}, {5, 6});
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_FALSE(sizes->covers(2));
  EXPECT_TRUE(sizes->covers(13));
}

TEST(Sizes, AGraphForOneBatchSizeIsTakenAsItIs) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {32, 6}, "x");
  const Value y = reshape(x, {8, 4, 6});
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->nominal(), 32);
  EXPECT_TRUE(sizes->covers(32));
  EXPECT_FALSE(sizes->covers(64));
  EXPECT_EQ(sizes->dim(y.endpoint(), 0), (BatchSize{0, 8}));
}

TEST(Sizes, SaysWhatDoesNotFit) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {32, 6}, "x"), y = placeholder(g, DType::kFloat32, {16, 6}, "y");
  EXPECT_EQ(sizes_of(g, {x, y}).status().id(), "ARG-SHARD-011");
  Graph h;
  const Value z = placeholder(h, DType::kFloat32, {-1, 6}, "z");
  reshape(z, {32, 6});
  const auto any = sizes_of(h, {z});
  EXPECT_EQ(any.status().id(), "ARG-SHARD-011") << any.status().to_string();
  EXPECT_NE(any.status().to_string().find("Reshape"), std::string::npos) << any.status().to_string();
  EXPECT_TRUE(sizes_of(h, {z}, 32).ok());
}

TEST(Sizes, PassThroughLoops) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value w = placeholder(g, DType::kFloat32, {4, 4}, "w");
  const DataflowLoop loop(g, x, [&](Value h) { return matmul(h, DataflowLoop::enter(g, w)); });
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 0), (BatchSize{1, 0}));
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 1), (BatchSize{0, 4}));
}

TEST(Sizes, WhatGrowsFromIterationToIterationIsUnknown) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const DataflowLoop loop(g, x, [&](Value h) { return concat({h, h}, 1); });
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 0), (BatchSize{1, 0}));
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 1), std::nullopt);
}

// A length that is fed may be another one next time. One that only fits as it is, is pinned.
TEST(Sizes, LengthsOfExamplesAreNoSizes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, -1, 4}, "x"), y = placeholder(g, DType::kFloat32, {-1, -1}, "y");
  const Value w = constant(g, Tensor::zeros(DType::kFloat32, {3, 2}));
  const Value twice = concat({x, x}, 1), product = matmul(y, w);
  const auto sizes = Sizes::find(
      g, {.batch = {x.node(), y.node()}, .examples = {{x.node(), Shape({8, 5, 4})}, {y.node(), Shape({8, 3})}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(twice.endpoint(), 0), (BatchSize{1, 0}));
  EXPECT_EQ(sizes->dim(twice.endpoint(), 1), std::nullopt);
  EXPECT_EQ(sizes->dim(twice.endpoint(), 2), (BatchSize{0, 4}));
  EXPECT_EQ(sizes->dim(y.endpoint(), 1), (BatchSize{0, 3}));
  EXPECT_EQ(sizes->dim(product.endpoint(), 1), (BatchSize{0, 2}));
  EXPECT_TRUE(sizes->fits(x.node(), Shape({6, 7, 4})));
  EXPECT_TRUE(sizes->fits(y.node(), Shape({6, 3})));
  EXPECT_FALSE(sizes->fits(y.node(), Shape({6, 4})));
}

TEST(Sizes, LengthsOfABatchOfOneSize) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, -1}, "x");
  const auto sizes = Sizes::find(g, {.batch = {x.node()}, .examples = {{x.node(), Shape({4, 5})}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(x.endpoint(), 0), (BatchSize{0, 4}));
  EXPECT_EQ(sizes->dim(x.endpoint(), 1), std::nullopt);
}

}  // namespace
}  // namespace argosy
