#include "argosy/ops/shape/shape.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/range.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::vector<std::int32_t>(values); }
Tensor one(std::int32_t value) { return Tensor::scalar(value); }

TEST(ShapeOps, SizesAsValues) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 3, 4});
  check({.op = "Shape", .inputs = {x}, .expect = {ints({2, 3, 4})}});
  check({.op = "Shape", .inputs = {Tensor::scalar(1.f)}, .expect = {ints({})}});
  check({.op = "Shape",
         .inputs = {Tensor::vector<std::string>({"a", "b"})},
         .attrs = {{"out_type", DType::kInt64}},
         .expect = {Tensor::vector<std::int64_t>({2})}});
  check({.op = "ShapeN", .inputs = {x, random_tensor(DType::kFloat32, {0})}, .expect = {ints({2, 3, 4}), ints({0})}});
  check({.op = "Size", .inputs = {x}, .expect = {one(24)}});
  check({.op = "Rank", .inputs = {x}, .expect = {one(3)}});
}

TEST(ShapeOps, Reshape) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 6});
  check({.op = "Reshape", .inputs = {x, ints({3, -1})}, .expect = {x.reshaped({3, 4})}});
  check({.op = "Reshape", .inputs = {x, ints({-1})}, .expect = {x.reshaped({12})}});
  check({.op = "Reshape", .inputs = {x, one(12)}, .expect = {x.reshaped({12})}});
  check({.op = "Reshape", .inputs = {Tensor::scalar(3.f), ints({1, 1})}, .expect = {Tensor::of<float>({1, 1}, {3})}});
  const Tensor empty = random_tensor(DType::kFloat32, {0, 6});
  check({.op = "Reshape", .inputs = {empty, ints({3, -1})}, .expect = {empty.reshaped({3, 0})}});
  check({.op = "Reshape", .inputs = {empty, ints({0, 2, -1})}, .expect = {empty.reshaped({0, 2, 3})}});
  check({.op = "Reshape", .inputs = {random_tensor(DType::kFloat32, {0, 0}), ints({3, 0, -1})}});
  check({.op = "Reshape", .inputs = {x, ints({0, -1})}, .error = Code::kInvalidArgument});
  check({.op = "Reshape", .inputs = {x, ints({5, -1})}, .error = Code::kInvalidArgument});
  check({.op = "Reshape", .inputs = {x, ints({-1, -1})}, .error = Code::kInvalidArgument});
  check({.op = "Reshape", .inputs = {x, ints({-2, -6})}, .error = Code::kInvalidArgument});
  check({.op = "Reshape", .inputs = {x, Tensor::of<std::int32_t>({1, 1}, {12})}, .error = Code::kInvalidArgument});
  check({.op = "Reshape",
         .inputs = {x, Tensor::vector<std::int64_t>({1LL << 32, 1LL << 32, 12})},
         .error = Code::kInvalidArgument});
}

TEST(ShapeOps, AxesOfSizeOne) {
  const Tensor x = random_tensor(DType::kFloat32, {1, 3, 1});
  check({.op = "Squeeze", .inputs = {x}, .expect = {x.reshaped({3})}});
  check({.op = "Squeeze",
         .inputs = {x},
         .attrs = {{"squeeze_dims", std::vector<std::int64_t>{-1}}},
         .expect = {x.reshaped({1, 3})}});
  check({.op = "Squeeze",
         .inputs = {x},
         .attrs = {{"squeeze_dims", std::vector<std::int64_t>{1}}},
         .error = Code::kInvalidArgument,
         .error_contains = "size of 3"});
  check({.op = "Squeeze",
         .inputs = {x},
         .attrs = {{"squeeze_dims", std::vector<std::int64_t>{3}}},
         .error = Code::kInvalidArgument});
  check({.op = "ExpandDims", .inputs = {x, one(1)}, .expect = {x.reshaped({1, 1, 3, 1})}});
  check({.op = "ExpandDims", .inputs = {x, one(-1)}, .expect = {x.reshaped({1, 3, 1, 1})}});
  check({.op = "ExpandDims", .inputs = {x, one(4)}, .error = Code::kInvalidArgument});
  check({.op = "ExpandDims", .inputs = {x, ints({0, 1})}, .error = Code::kInvalidArgument});
}

TEST(ShapeOps, Ranges) {
  check({.op = "Range", .inputs = {one(2), one(9), one(3)}, .expect = {ints({2, 5, 8})}});
  check({.op = "Range", .inputs = {one(3), one(0), one(-1)}, .expect = {ints({3, 2, 1})}});
  check({.op = "Range", .inputs = {one(3), one(3), one(1)}, .expect = {ints({})}});
  check({.op = "Range",
         .inputs = {Tensor::scalar(0.f), Tensor::scalar(1.f), Tensor::scalar(.25f)},
         .expect = {Tensor::vector<float>({0, .25, .5, .75})}});
  check({.op = "Range", .inputs = {one(0), one(3), one(0)}, .error = Code::kInvalidArgument});
  check({.op = "Range", .inputs = {one(0), one(-3), one(1)}, .error = Code::kInvalidArgument});
  check({.op = "Range", .inputs = {ints({0, 1}), one(3), one(1)}, .error = Code::kInvalidArgument});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float delta : {nan, 1e-30f}) {
    check({.op = "Range",
           .inputs = {Tensor::scalar(0.f), Tensor::scalar(1e30f), Tensor::scalar(delta)},
           .error = Code::kInvalidArgument});
  }
  check({.op = "LinSpace",
         .inputs = {Tensor::scalar(10.f), Tensor::scalar(12.f), one(3)},
         .expect = {Tensor::vector<float>({10, 11, 12})}});
  check({.op = "LinSpace",
         .inputs = {Tensor::scalar(10.f), Tensor::scalar(12.f), one(1)},
         .expect = {Tensor::vector<float>({10})}});
  check({.op = "LinSpace",
         .inputs = {Tensor::scalar(10.f), Tensor::scalar(12.f), one(0)},
         .error = Code::kInvalidArgument});
}

// TensorFlow 2.21's lengths: in wider numbers most of them have one element more, or one less.
TEST(ShapeOps, RangesAreCountedInTheirDtype) {
  const auto length = [](auto start, auto limit, auto delta) {
    const auto n = range_size(start, limit, delta);
    return n.ok() ? *n : -1;
  };
  EXPECT_EQ(length(0.f, .3f, .1f), 3);
  EXPECT_EQ(length(0.f, .6f, .2f), 3);
  EXPECT_EQ(length(0.f, 1.2f, .4f), 3);
  EXPECT_EQ(length(0.f, .1f, .01f), 10);
  EXPECT_EQ(length(0.f, 1.f, .1f), 10);
  EXPECT_EQ(length(3.f, 0.f, -.3f), 10);
  EXPECT_EQ(length(0., .3, .1), 3);
  EXPECT_EQ(length(0., 2.1, .7), 4);
  const auto half = [&](float a, float b, float d) { return length(float16(a), float16(b), float16(d)); };
  EXPECT_EQ(half(0, .3f, .1f), 4);
  EXPECT_EQ(half(0, 1, .1f), 10);
  EXPECT_EQ(half(0, 5, .1f), 50);
  EXPECT_EQ(half(0, 100, .1f), 1000);
  const auto brain = [&](float a, float b, float d) { return length(bfloat16(a), bfloat16(b), bfloat16(d)); };
  EXPECT_EQ(brain(0, .3f, .1f), 3);
  EXPECT_EQ(brain(0, 1.2f, .4f), 3);
  EXPECT_EQ(brain(0, 3000, 1), 3008) << "3000 is no bfloat16";
  check({.op = "Range",
         .inputs = {Tensor::scalar(0.f), Tensor::scalar(.3f), Tensor::scalar(.1f)},
         .expect = {Tensor::vector<float>({0, .1f, .2f})}});
}

// A batch of unknown size goes through shape arithmetic and comes out with everything else known.
TEST(ShapeOps, ShapesFlowThroughShapeArithmetic) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {PartialShape::kUnknown, 28, 28});
  const Value sizes = shape(x);
  const Value batch = index(sizes, {0});
  EXPECT_EQ(reshape(x, stack({batch, constant(g, std::int32_t{784})})).shape(),
            PartialShape({PartialShape::kUnknown, 784}));
  EXPECT_EQ(
      reshape(x, concat({index(sizes, {Slice{0, 1}}), constant(g, Tensor::vector<std::int32_t>({-1}))}, 0)).shape(),
      PartialShape({PartialShape::kUnknown, PartialShape::kUnknown}));
  EXPECT_TRUE(g.status().ok()) << g.status().to_string();
  const Value y = placeholder(g, DType::kFloat32, {4, 3});
  reshape(y, concat({constant(g, Tensor::vector<std::int32_t>({2})), reshape(size(y), {1})}, 0));
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument) << "12 elements do not fill [2,12]";
}

TEST(ShapeOps, KnownIntegers) {
  Graph g;
  const Value y = placeholder(g, DType::kFloat32, {4, PartialShape::kUnknown, 3});
  const Value last_two = index(shape(y), {Slice{.begin = -2}});
  EXPECT_EQ(*g.known_ints(last_two.endpoint()), (PartialInts{std::nullopt, 3}));
  const std::vector<Value> parts = unstack(shape(y), 3);
  EXPECT_EQ(*g.known_ints(parts[2].endpoint()), (PartialInts{3}));
  EXPECT_EQ(*g.known_ints(range(g, 3).endpoint()), (PartialInts{0, 1, 2}));
  const Value reversed = index(shape(y), {Slice{.step = -1}});
  EXPECT_EQ(*g.known_ints(reversed.endpoint()), (PartialInts{3, std::nullopt, 4}));
  const Value seven = constant(g, 7);
  const auto two_of = [&](Value v) { return g.add("Fill", {constant(g, Tensor::vector<std::int32_t>({2})), v}); };
  EXPECT_EQ(*g.known_ints(two_of(seven).endpoint()), (PartialInts{7, 7}));
  EXPECT_EQ(g.known_ints(two_of(constant(g, 7.0F)).endpoint()), nullptr);
  EXPECT_EQ(g.known_ints(g.add("Fill", {shape(y), seven}).endpoint()), nullptr) << "a matrix or more";
  EXPECT_TRUE(g.status().ok()) << g.status().to_string();
}

}  // namespace
}  // namespace argosy
