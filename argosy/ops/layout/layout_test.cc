#include "argosy/ops/layout/layout.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::vector<std::int32_t>(values); }
const char* const kNoKernelThere = "TensorFlow has the op, but no kernel for it";
Tensor one(std::int32_t value) { return Tensor::scalar(value); }
Tensor counting(const Shape& shape) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(Layout, Transpose) {
  check({.op = "Transpose",
         .inputs = {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), ints({1, 0})},
         .expect = {Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6})}});
  check({.op = "Transpose", .inputs = {counting({2, 3}), ints({-1, 0})}});
  check({.op = "Transpose", .inputs = {Tensor::scalar(1.f), ints({})}, .expect = {Tensor::scalar(1.f)}});
  // Every way through the copy loop: dense rows, rows promoted to bigger elements, tiles with and without remainder.
  for (const Shape& shape : {Shape{3, 4, 5, 2}, Shape{1, 37, 70, 3}, Shape{2, 33, 1, 64}, Shape{2, 0, 3, 4}}) {
    const Tensor x = counting(shape);
    for (const Tensor& perm : {ints({0, 2, 1, 3}), ints({3, 2, 1, 0}), ints({0, 3, 1, 2}), ints({2, 3, 0, 1})}) {
      check({.op = "Transpose", .inputs = {x, perm}, .other_dtypes = shape[1] < 10, .check_gradient = shape[1] == 4});
    }
  }
  check({.op = "Transpose",
         .inputs = {Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"}), ints({1, 0})},
         .expect = {Tensor::of<std::string>({2, 2}, {"a", "c", "b", "d"})}});
  using C = std::complex<float>;
  check({.op = "ConjugateTranspose",
         .inputs = {Tensor::of<C>({1, 2}, {C(1, 2), C(3, -4)}), ints({1, 0})},
         .expect = {Tensor::of<C>({2, 1}, {C(1, -2), C(3, 4)})}});
  check({.op = "ConjugateTranspose", .inputs = {counting({2, 3}), ints({1, 0})}});
  for (const Tensor& perm : {ints({0, 0}), ints({0, 2}), ints({1, -1}), ints({0}), one(0)}) {
    check({.op = "Transpose", .inputs = {counting({2, 3}), perm}, .error = Code::kInvalidArgument});
  }
  check({.op = "InvertPermutation", .inputs = {ints({3, 0, 1, 2})}, .expect = {ints({1, 2, 3, 0})}});
  check({.op = "InvertPermutation", .inputs = {ints({0, 0})}, .error = Code::kInvalidArgument});
  check({.op = "InvertPermutation", .inputs = {ints({0, 2})}, .error = Code::kInvalidArgument});
}

TEST(Layout, Concat) {
  const Tensor a = counting({2, 2});
  const Tensor b = Tensor::of<float>({2, 1}, {7, 8});
  const Tensor ab = Tensor::of<float>({2, 3}, {0, 1, 7, 2, 3, 8});
  check({.op = "ConcatV2", .inputs = {a, b, one(1)}, .expect = {ab}});
  check({.op = "ConcatV2", .inputs = {a, b, one(-1)}, .expect = {ab}});
  check({.op = "Concat", .inputs = {one(1), a, b}, .expect = {ab}});
  check({.op = "ConcatV2", .inputs = {a, counting({0, 2}), one(0)}, .expect = {a}});
  check({.op = "ConcatV2",
         .inputs = {Tensor::vector<std::string>({"x"}), Tensor::vector<std::string>({"y", "z"}), one(0)},
         .expect = {Tensor::vector<std::string>({"x", "y", "z"})}});
  check({.op = "ConcatV2", .inputs = {a, b, one(0)}, .error = Code::kInvalidArgument, .error_contains = "axis 0"});
  check(
      {.op = "ConcatV2",
       .inputs = {a, b, one(0)},
       .error = Code::kInvalidArgument,
       .error_contains = "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,2] vs. shape[1] = [2,1]"});
  check({.op = "ConcatV2",
         .inputs = {a, b, one(2)},
         .error = Code::kInvalidArgument,
         .error_contains = "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 2"});
  check({.op = "Split",
         .inputs = {one(2), a},
         .attrs = {{"num_split", 1}},
         .error = Code::kInvalidArgument,
         .error_contains = "-input rank(-2) <= split_dim < input rank (2), but got 2"});
  check({.op = "Slice",
         .inputs = {a, ints({1, 0}), ints({5, 2})},
         .error = Code::kInvalidArgument,
         .error_contains = "Expected size[0] in [0, 1], but got 5"});
  check({.op = "Slice",
         .inputs = {a, ints({3, 0}), ints({-1, 2})},
         .error = Code::kInvalidArgument,
         .error_contains = "Expected begin[0] in [0, 2], but got 3"});
  check({.op = "ConcatV2", .inputs = {a, counting({2}), one(0)}, .error = Code::kInvalidArgument});
  check({.op = "ConcatV2", .inputs = {one(1), one(2), one(0)}, .error = Code::kInvalidArgument});
  check({.op = "ConcatOffset",
         .inputs = {one(1), ints({2, 2, 7}), ints({2, 3, 7}), ints({2, 5, 7})},
         .expect = {ints({0, 0, 0}), ints({0, 2, 0}), ints({0, 5, 0})}});
  check({.op = "ConcatOffset", .inputs = {one(1), ints({2, 2}), ints({3, 2})}, .error = Code::kInvalidArgument});
}

// With a batch of unknown size the gradient goes by offsets computed as the step runs.
TEST(Layout, ConcatGradientWithoutKnownSizes) {
  Graph g;
  const Value a = placeholder(g, DType::kFloat64, {PartialShape::kUnknown, 2});
  const Value b = placeholder(g, DType::kFloat64, {PartialShape::kUnknown, 2});
  const Value y = concat({a, b}, 0);
  const Tensor dy = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto dxs = gradients(g, {y}, {a, b}, {.grad_ys = {constant(g, dy)}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {{a.endpoint(), dy.rows(0, 1)}, {b.endpoint(), dy.rows(0, 2)}},
                            {dxs[0].endpoint(), dxs[1].endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], dy.rows(0, 1), 0), "");
  EXPECT_EQ(difference((*out)[1], dy.rows(1, 3), 0), "");
}

TEST(Layout, SplitAndPack) {
  const Tensor x = counting({2, 4});
  check({.op = "Split",
         .inputs = {one(1), x},
         .attrs = {{"num_split", 2}},
         .expect = {Tensor::of<float>({2, 2}, {0, 1, 4, 5}), Tensor::of<float>({2, 2}, {2, 3, 6, 7})}});
  check({.op = "Split", .inputs = {one(-2), x}, .attrs = {{"num_split", 1}}, .expect = {x}});
  check({.op = "Split", .inputs = {one(1), x}, .attrs = {{"num_split", 3}}, .error = Code::kInvalidArgument});
  check({.op = "Split", .inputs = {one(2), x}, .attrs = {{"num_split", 2}}, .error = Code::kInvalidArgument});
  check({.op = "SplitV",
         .inputs = {x, ints({1, -1}), one(1)},
         .attrs = {{"num_split", 2}},
         .expect = {Tensor::of<float>({2, 1}, {0, 4}), Tensor::of<float>({2, 3}, {1, 2, 3, 5, 6, 7})}});
  for (const Tensor& sizes : {ints({1, 2}), ints({-1, -1}), ints({5, -1}), ints({6, -2}), ints({4})}) {
    check({.op = "SplitV", .inputs = {x, sizes, one(1)}, .attrs = {{"num_split", 2}}, .error = Code::kInvalidArgument});
  }
  const Tensor a = ints({1, 2}), b = ints({3, 4});
  check({.op = "Pack", .inputs = {a, b}, .expect = {Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 4})}});
  check({.op = "Pack",
         .inputs = {a, b},
         .attrs = {{"axis", -1}},
         .expect = {Tensor::of<std::int32_t>({2, 2}, {1, 3, 2, 4})}});
  check({.op = "Pack", .inputs = {counting({2, 3}), counting({2, 3})}, .attrs = {{"axis", 1}}});
  check({.op = "Pack", .inputs = {one(5), one(6)}, .expect = {ints({5, 6})}});
  check({.op = "Pack", .inputs = {a, one(1)}, .error = Code::kInvalidArgument});
  check({.op = "Pack", .inputs = {a, b}, .attrs = {{"axis", 2}}, .error = Code::kInvalidArgument});
  check({.op = "Unpack",
         .inputs = {counting({2, 2})},
         .attrs = {{"num", 2}, {"axis", 1}},
         .expect = {Tensor::vector<float>({0, 2}), Tensor::vector<float>({1, 3})}});
  check({.op = "Unpack", .inputs = {x}, .attrs = {{"num", 3}}, .error = Code::kInvalidArgument});
  check({.op = "Unpack", .inputs = {one(1)}, .attrs = {{"num", 1}}, .error = Code::kInvalidArgument});
}

TEST(Layout, Slice) {
  const Tensor x = counting({3, 4});
  check({.op = "Slice",
         .inputs = {x, ints({1, 2}), ints({2, -1})},
         .expect = {Tensor::of<float>({2, 2}, {6, 7, 10, 11})}});
  check({.op = "Slice", .inputs = {x, ints({3, 0}), ints({-1, 4})}, .expect = {counting({0, 4})}});
  check({.op = "Slice", .inputs = {counting({}), ints({}), ints({})}, .expect = {counting({})}});
  check({.op = "Slice", .inputs = {x, ints({0, 0}), ints({4, 1})}, .error = Code::kInvalidArgument});
  check({.op = "Slice", .inputs = {x, ints({-1, 0}), ints({1, 1})}, .error = Code::kInvalidArgument});
  check({.op = "Slice", .inputs = {x, ints({0, 0}), ints({-2, 1})}, .error = Code::kInvalidArgument});
  check({.op = "Slice", .inputs = {x, ints({0}), ints({1})}, .error = Code::kInvalidArgument});
}

TEST(Layout, StridedSlice) {
  const Tensor x = counting({3, 4});
  const auto slice = [&](Tensor begin, Tensor end, Tensor strides, AttrMap attrs, std::vector<Tensor> expect) {
    check({.op = "StridedSlice", .inputs = {x, begin, end, strides}, .attrs = attrs, .expect = expect});
  };
  slice(ints({1, 0}), ints({3, 4}), ints({1, 2}), {}, {Tensor::of<float>({2, 2}, {4, 6, 8, 10})});
  slice(ints({1}), ints({2}), ints({1}), {{"shrink_axis_mask", 1}}, {Tensor::vector<float>({4, 5, 6, 7})});
  slice(ints({-1}), ints({0}), ints({1}), {{"shrink_axis_mask", 1}}, {Tensor::vector<float>({8, 9, 10, 11})});
  slice(ints({0, 0}), ints({0, 0}), ints({-1, -2}), {{"begin_mask", 3}, {"end_mask", 3}},
        {Tensor::of<float>({3, 2}, {11, 9, 7, 5, 3, 1})});
  slice(ints({0, 0, 1}), ints({0, 0, 2}), ints({1, 1, 1}), {{"ellipsis_mask", 1}, {"new_axis_mask", 2}},
        {Tensor::of<float>({3, 1, 1}, {1, 5, 9})});
  slice(ints({2, -100}), ints({-100, 100}), ints({-1, 3}), {}, {Tensor::of<float>({3, 2}, {8, 11, 4, 7, 0, 3})});
  slice(ints({2}), ints({1}), ints({1}), {}, {counting({0, 4})});
  slice(ints({}), ints({}), ints({}), {}, {x});
  const auto fails = [&](Tensor begin, Tensor end, Tensor strides, AttrMap attrs, const char* why) {
    check({.op = "StridedSlice",
           .inputs = {x, begin, end, strides},
           .attrs = attrs,
           .error = Code::kInvalidArgument,
           .error_contains = why});
  };
  fails(ints({0}), ints({1}), ints({0}), {}, "must not be zero");
  fails(ints({3}), ints({4}), ints({1}), {{"shrink_axis_mask", 1}}, "out of bounds");
  fails(ints({0}), ints({1}), ints({-1}), {{"shrink_axis_mask", 1}}, "positive stride");
  fails(ints({0, 0}), ints({1, 1}), ints({1, 1}), {{"ellipsis_mask", 3}}, "more than one ellipsis");
  fails(ints({0}), ints({1}), ints({1}), {{"ellipsis_mask", -1}}, "more than one ellipsis");
  fails(ints({0, 0, 0}), ints({1, 1, 1}), ints({1, 1, 1}), {}, "rank 2");
  fails(ints({0}), ints({1, 1}), ints({1}), {}, "");
  const auto least = std::numeric_limits<std::int64_t>::min();
  check({.op = "StridedSlice",
         .inputs = {x, Tensor::vector({least}), Tensor::vector({std::numeric_limits<std::int64_t>::max()}),
                    Tensor::vector<std::int64_t>({2})},
         .expect = {Tensor::of<float>({2, 4}, {0, 1, 2, 3, 8, 9, 10, 11})}});
  check({.op = "StridedSliceGrad",
         .inputs = {ints({4}), ints({3}), ints({0}), ints({-2}), Tensor::vector<float>({1, 2})},
         .expect = {Tensor::vector<float>({0, 2, 0, 1})}});
  check({.op = "StridedSliceGrad",
         .inputs = {ints({4}), ints({0}), ints({3}), ints({1}), Tensor::vector<float>({1, 2})},
         .error = Code::kInvalidArgument});
}

TEST(Layout, IndexReadsLikeNumPy) {
  Graph g;
  const Value x = constant(g, counting({2, 3, 4}));
  const Value y = index(x, {1, Slice{.begin = -2}, kNewAxis, Slice{.step = 2}});
  EXPECT_EQ(y.shape(), PartialShape({2, 1, 2}));
  EXPECT_EQ(index(x, {kEllipsis, 0}).shape(), PartialShape({2, 3}));
  const auto out = evaluate(g, {}, {y.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<float>({2, 1, 2}, {16, 18, 20, 22}), 0), "");
}

TEST(Layout, Pad) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor frame = Tensor::of<std::int32_t>({2, 2}, {1, 0, 0, 2});
  check(
      {.op = "Pad", .inputs = {x, frame}, .expect = {Tensor::of<float>({3, 4}, {0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0})}});
  check({.op = "PadV2",
         .inputs = {x, frame, Tensor::scalar(9.f)},
         .expect = {Tensor::of<float>({3, 4}, {9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9})}});
  check({.op = "Pad", .inputs = {x, Tensor::of<std::int32_t>({2, 2}, {-1, 0, 0, 0})}, .error = Code::kInvalidArgument});
  check({.op = "Pad", .inputs = {x, Tensor::of<std::int32_t>({1, 2}, {1, 0})}, .error = Code::kInvalidArgument});
  const auto most = std::numeric_limits<std::int64_t>::max();
  check(
      {.op = "Pad", .inputs = {x, Tensor::of<std::int64_t>({2, 2}, {most, 1, 0, 0})}, .error = Code::kInvalidArgument});
  const Tensor row = Tensor::vector<float>({1, 2, 3});
  const Tensor two = Tensor::of<std::int32_t>({1, 2}, {2, 2});
  check({.op = "MirrorPad",
         .inputs = {row, two},
         .attrs = {{"mode", "REFLECT"}},
         .expect = {Tensor::vector<float>({3, 2, 1, 2, 3, 2, 1})}});
  check({.op = "MirrorPad",
         .inputs = {row, two},
         .attrs = {{"mode", "SYMMETRIC"}},
         .expect = {Tensor::vector<float>({2, 1, 1, 2, 3, 3, 2})}});
  const Tensor wide = Tensor::of<std::int32_t>({2, 2}, {1, 2, 2, 1});
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    check({.op = "MirrorPad", .inputs = {counting({3, 4}), wide}, .attrs = {{"mode", mode}}});
    check({.op = "MirrorPadGrad", .inputs = {counting({6, 7}), wide}, .attrs = {{"mode", mode}}});
  }
  check({.op = "MirrorPad",
         .inputs = {row, Tensor::of<std::int32_t>({1, 2}, {3, 0})},
         .attrs = {{"mode", "REFLECT"}},
         .error = Code::kInvalidArgument});
  check({.op = "MirrorPadGrad",
         .inputs = {row, Tensor::of<std::int32_t>({1, 2}, {2, 2})},
         .attrs = {{"mode", "SYMMETRIC"}},
         .error = Code::kInvalidArgument});
}

TEST(Layout, TileReverseRoll) {
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2});
  check({.op = "Tile", .inputs = {x, ints({2, 2})}, .expect = {Tensor::of<float>({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})}});
  check({.op = "Tile", .inputs = {x, ints({1, 0})}, .expect = {counting({1, 0})}});
  check({.op = "Tile", .inputs = {x, ints({1, -1})}, .error = Code::kInvalidArgument});
  check({.op = "Tile", .inputs = {x, ints({2})}, .error = Code::kInvalidArgument});
  check({.op = "Tile", .inputs = {x, Tensor::vector<std::int64_t>({1LL << 62, 8})}, .error = Code::kInvalidArgument});
  check({.op = "TileGrad",
         .inputs = {counting({2, 4}), ints({2, 2})},
         .expect = {Tensor::of<float>({1, 2}, {12, 16})},
         .unlike_tensorflow = kNoKernelThere});
  check({.op = "TileGrad", .inputs = {counting({2, 4}), ints({3, 1})}, .error = Code::kInvalidArgument});
  const Tensor m = counting({2, 3});
  const Tensor right_to_left = Tensor::of<float>({2, 3}, {2, 1, 0, 5, 4, 3});
  check({.op = "ReverseV2", .inputs = {m, ints({-1})}, .expect = {right_to_left}});
  check({.op = "ReverseV2", .inputs = {m, ints({})}, .expect = {m}});
  check({.op = "Reverse", .inputs = {m, Tensor::vector<bool>({false, true})}, .expect = {right_to_left}});
  check({.op = "ReverseV2", .inputs = {m, ints({1, -1})}, .error = Code::kInvalidArgument});
  check({.op = "ReverseV2", .inputs = {m, ints({2})}, .error = Code::kInvalidArgument});
  const AttrMap along = {{"seq_dim", 1}, {"batch_dim", 0}};
  check({.op = "ReverseSequence",
         .inputs = {m, Tensor::vector<std::int64_t>({2, 0})},
         .attrs = along,
         .expect = {Tensor::of<float>({2, 3}, {1, 0, 2, 3, 4, 5})}});
  check({.op = "ReverseSequence",
         .inputs = {counting({2, 3, 4}), Tensor::vector<std::int64_t>({0, 1, 2, 1})},
         .attrs = {{"seq_dim", 0}, {"batch_dim", 2}}});
  check({.op = "ReverseSequence",
         .inputs = {m, Tensor::vector<std::int64_t>({4, 0})},
         .attrs = along,
         .error = Code::kInvalidArgument});
  check({.op = "ReverseSequence",
         .inputs = {m, Tensor::vector<std::int64_t>({1})},
         .attrs = along,
         .error = Code::kInvalidArgument});
  check({.op = "Roll", .inputs = {m, one(1), one(1)}, .expect = {Tensor::of<float>({2, 3}, {2, 0, 1, 5, 3, 4})}});
  check({.op = "Roll",
         .inputs = {m, ints({1, -4, 2}), ints({0, 1, 1})},
         .expect = {Tensor::of<float>({2, 3}, {5, 3, 4, 2, 0, 1})}});
  check({.op = "Roll", .inputs = {m, one(1), one(2)}, .error = Code::kInvalidArgument});
}

TEST(Layout, SpaceDepthBatch) {
  const Tensor image = counting({1, 2, 2, 1});
  check({.op = "SpaceToDepth", .inputs = {image}, .attrs = {{"block_size", 2}}, .expect = {counting({1, 1, 1, 4})}});
  check({.op = "DepthToSpace", .inputs = {counting({1, 1, 1, 4})}, .attrs = {{"block_size", 2}}, .expect = {image}});
  for (const char* format : {"NHWC", "NCHW"}) {
    const AttrMap attrs = {{"block_size", 2}, {"data_format", format}};
    check({.op = "SpaceToDepth", .inputs = {counting({2, 4, 6, 2})}, .attrs = attrs});
    check({.op = "DepthToSpace", .inputs = {counting({2, 4, 2, 4})}, .attrs = attrs});
  }
  check({.op = "SpaceToDepth",
         .inputs = {counting({1, 3, 2, 1})},
         .attrs = {{"block_size", 2}},
         .error = Code::kInvalidArgument});
  check({.op = "DepthToSpace",
         .inputs = {counting({1, 3, 2, 2})},
         .attrs = {{"block_size", 2}},
         .error = Code::kInvalidArgument});
  const Tensor block = ints({2, 2});
  const Tensor none = Tensor::of<std::int32_t>({2, 2}, {0, 0, 0, 0});
  const Tensor some = Tensor::of<std::int32_t>({2, 2}, {1, 0, 2, 1});
  check({.op = "SpaceToBatchND", .inputs = {image, block, none}, .expect = {counting({4, 1, 1, 1})}});
  check({.op = "BatchToSpaceND", .inputs = {counting({4, 1, 1, 1}), block, none}, .expect = {image}});
  check({.op = "SpaceToBatchND", .inputs = {counting({2, 3, 5, 2}), block, some}});
  check({.op = "BatchToSpaceND", .inputs = {counting({8, 3, 4, 2}), block, some}});
  check({.op = "SpaceToBatch", .inputs = {counting({2, 3, 5, 2}), some}, .attrs = {{"block_size", 2}}});
  check({.op = "BatchToSpace", .inputs = {counting({8, 3, 4, 2}), some}, .attrs = {{"block_size", 2}}});
  check({.op = "SpaceToBatchND", .inputs = {counting({2, 3, 5, 2}), block, none}, .error = Code::kInvalidArgument});
  check({.op = "SpaceToBatchND", .inputs = {image, ints({0, 2}), none}, .error = Code::kInvalidArgument});
  check({.op = "BatchToSpaceND", .inputs = {counting({3, 1, 1, 1}), block, none}, .error = Code::kInvalidArgument});
  check({.op = "BatchToSpaceND", .inputs = {counting({4, 1, 1, 1}), block, some}, .error = Code::kInvalidArgument});
}

TEST(Layout, Diagonals) {
  const Tensor d = Tensor::vector<float>({1, 2});
  check({.op = "MatrixDiag", .inputs = {d}, .expect = {Tensor::of<float>({2, 2}, {1, 0, 0, 2})}});
  check({.op = "MatrixDiag", .inputs = {counting({2, 3})}});
  check({.op = "MatrixDiagPart", .inputs = {counting({2, 3})}, .expect = {Tensor::vector<float>({0, 4})}});
  check({.op = "MatrixSetDiag",
         .inputs = {counting({2, 3}), Tensor::vector<float>({7, 8})},
         .expect = {Tensor::of<float>({2, 3}, {7, 1, 2, 3, 8, 5})}});
  check({.op = "MatrixSetDiag", .inputs = {counting({2, 3}), counting({3})}, .error = Code::kInvalidArgument});
  const auto band = [](std::int64_t lower, std::int64_t upper, std::vector<Tensor> expect) {
    check({.op = "MatrixBandPart",
           .inputs = {counting({3, 3}), Tensor::scalar(lower), Tensor::scalar(upper)},
           .expect = std::move(expect)});
  };
  band(0, -1, {Tensor::of<float>({3, 3}, {0, 1, 2, 0, 4, 5, 0, 0, 8})});
  band(1, 0, {Tensor::of<float>({3, 3}, {0, 0, 0, 3, 4, 0, 0, 7, 8})});
  band(-1, -1, {counting({3, 3})});
  check({.op = "MatrixBandPart",
         .inputs = {counting({3, 3}), Tensor::scalar<std::int64_t>(4), Tensor::scalar<std::int64_t>(0)},
         .error = Code::kInvalidArgument});
  check({.op = "Diag", .inputs = {counting({2, 2})}});
  check({.op = "DiagPart", .inputs = {counting({2, 2, 2, 2})}, .expect = {Tensor::of<float>({2, 2}, {0, 5, 10, 15})}});
  check({.op = "DiagPart", .inputs = {counting({2, 3})}, .error = Code::kInvalidArgument});
  check({.op = "Diag", .inputs = {Tensor::scalar(1.f)}, .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
