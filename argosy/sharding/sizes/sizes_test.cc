#include "argosy/sharding/sizes/sizes.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/tensor_array/tensor_array.h"
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
  EXPECT_EQ(sizes->dim(x.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(x.endpoint(), 1), (AffineSize{0, 6}));
  EXPECT_EQ(sizes->dim(flat.endpoint(), 0), (AffineSize{2, 0}));
  EXPECT_EQ(sizes->element(shapes.endpoint(), 0), (AffineSize{2, 1}));
  EXPECT_EQ(sizes->element(shapes.endpoint(), 1), (AffineSize{0, 6}));
  EXPECT_EQ(sizes->element(count.endpoint(), 0), (AffineSize{6, 0}));
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
  EXPECT_EQ(sizes->element(floored.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->element(rest.endpoint(), 0), std::nullopt);
}

// What is capped above the sizes that are tried is a function of smaller batches alone.
TEST(Sizes, LargeBatchesAreCoveredThatWereTried) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 6}, "x");
  const Value capped = minimum(slice(shape(x), {0}, {1}), 200000);
  const auto small = Sizes::find(g, {.batch = {x.node()}, .examples = {{x.node(), Shape({64, 6})}}});
  ASSERT_TRUE(small.ok()) << small.status().to_string();
  EXPECT_EQ(small->element(capped.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_TRUE(small->covers(100000));
  EXPECT_FALSE(small->covers(300000));
  const auto large = Sizes::find(g, {.batch = {x.node()}, .examples = {{x.node(), Shape({300000, 6})}}});
  ASSERT_TRUE(large.ok()) << large.status().to_string();
  EXPECT_EQ(large->element(capped.endpoint(), 0), std::nullopt);
  EXPECT_TRUE(large->covers(300000));
  EXPECT_TRUE(large->covers(64));
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
  EXPECT_EQ(sizes->dim(y.endpoint(), 0), (AffineSize{0, 8}));
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
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 1), (AffineSize{0, 4}));
}

TEST(Sizes, WhatGrowsFromIterationToIterationIsUnknown) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const DataflowLoop loop(g, x, [&](Value h) { return concat({h, h}, 1); });
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(loop.out.endpoint(), 1), std::nullopt);
}

// Sizes of a gradient follow from what its stack holds, which is learned after a first look at the loop.
TEST(Sizes, WhatStacksHoldIsKnownBeforeWhatLoopsCarry) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), start = zeros_like(x);
  const Value minus = constant(g, std::int32_t{-1});
  const Value shapes = g.add("StackV2", {minus}, {{"elem_type", DType::kInt32}});
  const Value rows = g.add("StackV2", {minus}, {{"elem_type", DType::kFloat32}});
  const DataflowLoop there(g, x, [&](Value h) {
    g.add("StackPushV2", {DataflowLoop::enter(g, shapes), shape(h)});
    return g.add("StackPushV2", {DataflowLoop::enter(g, rows), tanh(h)});
  });
  Value popped;
  const DataflowLoop back(
      g, start,
      [&](Value dy) {
        popped = g.add("StackPopV2", {DataflowLoop::enter(g, shapes, "back")}, {{"elem_type", DType::kInt32}});
        const Value y = g.add("StackPopV2", {DataflowLoop::enter(g, rows, "back")}, {{"elem_type", DType::kFloat32}});
        return g.add("Reshape", {dy * y, popped});
      },
      "back");
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->element(popped.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->element(popped.endpoint(), 1), (AffineSize{0, 4}));
  EXPECT_EQ(sizes->dim(back.out.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(back.out.endpoint(), 1), (AffineSize{0, 4}));
}

TEST(Sizes, StacksOfDifferentShapesHoldWhatTheyShare) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value stack = g.add("StackV2", {constant(g, std::int32_t{-1})}, {{"elem_type", DType::kInt32}});
  const Value first = g.add("StackPushV2", {stack, shape(x)});
  const Value second = g.add("StackPushV2", {stack, shape(concat({x, x}, 0))});
  const auto after = g.control_dependencies({first, second});
  const Value popped = g.add("StackPopV2", {stack}, {{"elem_type", DType::kInt32}});
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->element(popped.endpoint(), 0), std::nullopt);
  EXPECT_EQ(sizes->element(popped.endpoint(), 1), (AffineSize{0, 4}));
}

// An array whose maker knows some sizes: what is written tells the others, to its gradients too.
TEST(Sizes, ArraysHoldWhatTheyWereMadeForAndWhatIsWritten) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value zero = constant(g, std::int32_t{0});
  const TensorArrayValue made = tensor_array(constant(g, std::int32_t{2}), DType::kFloat32,
                                             {.element_shape = PartialShape{PartialShape::kUnknown, 4}}, "rows");
  const TensorArrayValue full = tensor_array_write(made, zero, tanh(x));
  const Value all = tensor_array_gather(full, constant(g, Tensor::vector<std::int32_t>({0})));
  const Value slopes = g.add("TensorArrayGradV3", {full.handle, full.flow}, {{"source", std::string("gradients")}});
  const Value flow = g.add("TensorArrayScatterV3",
                           {slopes, constant(g, Tensor::vector<std::int32_t>({0})), all * 2.0f, slopes.output(1)});
  const Value read = g.add("TensorArrayReadV3", {slopes, zero, flow}, {{"dtype", DType::kFloat32}});
  const auto sizes = sizes_of(g, {x});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(all.endpoint(), 1), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(read.endpoint(), 0), (AffineSize{1, 0}));
}

// A length that is fed may be another one next time. Of one that only fits as it is, no other is covered.
TEST(Sizes, LengthsOfExamplesAreNoSizes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, -1, 4}, "x"), y = placeholder(g, DType::kFloat32, {-1, -1}, "y");
  const Value w = constant(g, Tensor::zeros(DType::kFloat32, {3, 2}));
  const Value twice = concat({x, x}, 1), product = matmul(y, w);
  const auto sizes = Sizes::find(
      g, {.batch = {x.node(), y.node()}, .examples = {{x.node(), Shape({8, 5, 4})}, {y.node(), Shape({8, 3})}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(twice.endpoint(), 0), (AffineSize{1, 0}));
  EXPECT_EQ(sizes->dim(twice.endpoint(), 1), std::nullopt);
  EXPECT_EQ(sizes->dim(twice.endpoint(), 2), (AffineSize{0, 4}));
  EXPECT_EQ(sizes->dim(y.endpoint(), 1), (AffineSize{0, 3}));
  EXPECT_EQ(sizes->dim(product.endpoint(), 1), (AffineSize{0, 2}));
  EXPECT_TRUE(sizes->fits(x.node(), Shape({6, 7, 4})));
  EXPECT_TRUE(sizes->fits(y.node(), Shape({6, 3})));
  EXPECT_FALSE(sizes->fits(y.node(), Shape({6, 4})));
}

// What is the same for long lengths alone, or for short ones alone, is no size of the graph: x[:, :10], x[:, 10:], pooling.
TEST(Sizes, WhatALengthIsCutToIsNotKnown) {
  for (const std::int64_t length : {2, 5, 9, 10, 11, 12, 100}) {
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {-1, -1, 4}, "x");
    const auto at = [&](std::int32_t column) { return constant(g, Tensor::vector<std::int32_t>({0, column, 0})); };
    const Value ones = constant(g, Tensor::vector<std::int32_t>({1, 1, 1}));
    const auto cut = [&](std::int32_t from, std::int32_t to, std::int64_t to_the_end) {
      const AttrMap attrs = {{"begin_mask", std::int64_t{5}}, {"end_mask", to_the_end}};
      return g.add("StridedSlice", {x, at(from), at(to), ones}, attrs);
    };
    const Value first = cut(0, 10, 5), rest = cut(10, 0, 7), last = cut(-10, 0, 7);
    const Value images = expand_dims(x, 3);
    const Value pooled = g.add("MaxPool", {images},
                               {{"ksize", std::vector<std::int64_t>{1, 16, 1, 1}},
                                {"strides", std::vector<std::int64_t>{1, 16, 1, 1}},
                                {"padding", std::string("SAME")}});
    const auto sizes = Sizes::find(g, {.batch = {x.node()}, .examples = {{x.node(), Shape({8, length, 4})}}});
    ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
    for (const Value v : {x, first, rest, last, pooled}) {
      EXPECT_EQ(sizes->dim(v.endpoint(), 0), (AffineSize{1, 0})) << v.name();
      EXPECT_EQ(sizes->dim(v.endpoint(), 1), std::nullopt) << v.name() << " of " << length;
      EXPECT_EQ(sizes->dim(v.endpoint(), 2), (AffineSize{0, 4})) << v.name();
    }
    EXPECT_TRUE(sizes->fits(x.node(), Shape({6, 3, 4})));
    EXPECT_TRUE(sizes->fits(x.node(), Shape({6, 700, 4})));
    EXPECT_FALSE(sizes->fits(x.node(), Shape({6, 1, 4})));
  }
}

// Two lengths that are equal in the example are two all the same.
TEST(Sizes, EqualLengthsMayPart) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, -1}, "x"), y = placeholder(g, DType::kFloat32, {-1, -1}, "y");
  const auto length = [&](Value v) {
    const auto number = [&](std::int32_t n) { return constant(g, Tensor::vector<std::int32_t>({n})); };
    return g.add("StridedSlice", {g.add("Shape", {v}), number(1), number(2), number(1)},
                 {{"shrink_axis_mask", std::int64_t{1}}});
  };
  const Value apart = length(x) - length(y);
  const auto sizes = Sizes::find(
      g, {.batch = {x.node(), y.node()}, .examples = {{x.node(), Shape({8, 5})}, {y.node(), Shape({8, 5})}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->element(apart.endpoint(), 0), std::nullopt);
}

TEST(Sizes, LengthsOfABatchOfOneSize) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, -1}, "x");
  const auto sizes = Sizes::find(g, {.batch = {x.node()}, .examples = {{x.node(), Shape({4, 5})}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status().to_string();
  EXPECT_EQ(sizes->dim(x.endpoint(), 0), (AffineSize{0, 4}));
  EXPECT_EQ(sizes->dim(x.endpoint(), 1), std::nullopt);
}

}  // namespace
}  // namespace argosy
