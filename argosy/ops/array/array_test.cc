#include "argosy/ops/array/array.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }
Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }

void refuses(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}, Code code = Code::kInvalidArgument) {
  check({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .error = code});
}

TEST(ArrayOps, HandThrough) {
  check({.op = "EnsureShape", .inputs = {numbers({2, 3})}, .attrs = {{"shape", PartialShape({2, -1})}}});
  check({.op = "EnsureShape", .inputs = {numbers({2, 3})}, .attrs = {{"shape", PartialShape()}}});
  refuses("EnsureShape", {numbers({2, 3})}, {{"shape", PartialShape({3, -1})}});
  check({.op = "DeepCopy", .inputs = {numbers({2, 3})}});
  check({.op = "GuaranteeConst", .inputs = {numbers({2, 3})}});
  check({.op = "Empty",
         .inputs = {ints({2, 3})},
         .attrs = {{"dtype", DType::kFloat32}, {"init", true}},
         .expect = {Tensor::zeros(DType::kFloat32, {2, 3})}});
  refuses("Empty", {ints({-2})}, {{"dtype", DType::kFloat32}});
  refuses("Empty", {Tensor::scalar(2)}, {{"dtype", DType::kFloat32}});
}

TEST(ArrayOps, Cross) {
  check({.op = "Cross", .inputs = {floats({1, 2, 3}), floats({4, 5, 7})}, .expect = {floats({-1, 5, -3})}});
  check({.op = "Cross", .inputs = {ints({1, 2, 3}), ints({4, 5, 7})}, .expect = {ints({-1, 5, -3})}});
  check({.op = "Cross", .inputs = {numbers({2, 4, 3}), numbers({2, 4, 3}, 2)}});
  check({.op = "Cross",
         .inputs = {Tensor::zeros(DType::kFloat32, {0, 3}), Tensor::zeros(DType::kFloat32, {0, 3})},
         .check_gradient = false});
  refuses("Cross", {numbers({2}), numbers({2})}, {}, Code::kFailedPrecondition);
  refuses("Cross", {numbers({2, 3}), numbers({3})});
}

TEST(ArrayOps, Searching) {
  const Tensor sorted = Tensor::of<float>({2, 4}, {1, 2, 2, 9, -1, 0, 3, 3});
  const Tensor values = Tensor::of<float>({2, 3}, {2, 0, 10, 3, -5, 1});
  check({.op = "LowerBound",
         .inputs = {sorted, values},
         .expect = {Tensor::of<std::int32_t>({2, 3}, {1, 0, 4, 2, 0, 2})}});
  check({.op = "UpperBound",
         .inputs = {sorted, values},
         .attrs = {{"out_type", DType::kInt64}},
         .expect = {Tensor::of<std::int64_t>({2, 3}, {3, 0, 4, 4, 0, 2})}});
  refuses("LowerBound", {numbers({3}), numbers({1})});
  refuses("UpperBound", {numbers({2, 3}), numbers({3, 1})});

  check({.op = "UnravelIndex",
         .inputs = {ints({22, 41, 37}), ints({7, 6})},
         .expect = {Tensor::of<std::int32_t>({2, 3}, {3, 6, 6, 4, 5, 1})},
         .other_dtypes = false});
  check({.op = "UnravelIndex",
         .inputs = {Tensor::scalar(std::int64_t{22}), Tensor::vector<std::int64_t>({7, 6})},
         .expect = {Tensor::vector<std::int64_t>({3, 4})}});
  refuses("UnravelIndex", {ints({42}), ints({7, 6})});
  refuses("UnravelIndex", {ints({1}), ints({0, 6})});
  refuses("UnravelIndex", {Tensor::of<std::int32_t>({1, 1}, {1}), ints({7})});

  check({.op = "HistogramFixedWidth",
         .inputs = {floats({-1, 0, 1.5f, 2, 5, 15}), floats({0, 5}), Tensor::scalar(5)},
         .expect = {ints({2, 1, 1, 0, 2})},
         .other_dtypes = false});
  check({.op = "HistogramFixedWidth",
         .inputs = {Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 9}), ints({0, 10}), Tensor::scalar(3)},
         .attrs = {{"dtype", DType::kInt64}},
         .other_dtypes = false});
  refuses("HistogramFixedWidth", {floats({1}), floats({5, 5}), Tensor::scalar(5)});
  refuses("HistogramFixedWidth", {floats({1}), floats({0, 5}), Tensor::scalar(0)});
  refuses("HistogramFixedWidth", {floats({NAN}), floats({0, 5}), Tensor::scalar(3)});

  for (const bool reverse : {false, true}) {
    for (const int n : {0, 2, 4}) {
      check({.op = "NthElement",
             .inputs = {numbers({3, 2, 5}), Tensor::scalar(n)},
             .attrs = {{"reverse", reverse}},
             .other_dtypes = n == 2});
    }
  }
  refuses("NthElement", {numbers({3}), Tensor::scalar(3)});
  refuses("NthElement", {numbers({3}), Tensor::scalar(-1)});
  refuses("NthElement", {Tensor::scalar(1.0f), Tensor::scalar(0)});
}

TEST(ArrayOps, Formats) {
  check({.op = "DataFormatDimMap",
         .inputs = {ints({0, -1, 2, 3})},
         .expect = {ints({0, 1, 3, 1})},
         .other_dtypes = false});
  check({.op = "DataFormatDimMap",
         .inputs = {ints({1, 3})},
         .attrs = {{"dst_format", "HWNC"}},
         .expect = {ints({0, 3})},
         .other_dtypes = false});
  refuses("DataFormatDimMap", {ints({0})}, {{"src_format", "NHW"}});
  refuses("DataFormatDimMap", {ints({0})}, {{"src_format", "NHWX"}});
  check({.op = "DataFormatVecPermute",
         .inputs = {ints({1, 2, 3, 4})},
         .expect = {ints({1, 4, 2, 3})},
         .other_dtypes = false});
  check({.op = "DataFormatVecPermute", .inputs = {ints({7, 8})}, .expect = {ints({7, 8})}, .other_dtypes = false});
  check({.op = "DataFormatVecPermute",
         .inputs = {Tensor::of<std::int64_t>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
         .expect = {Tensor::of<std::int64_t>({4, 2}, {0, 1, 6, 7, 2, 3, 4, 5})},
         .other_dtypes = false});
  check({.op = "DataFormatVecPermute",
         .inputs = {ints({0, 1, 2, 3, 4})},
         .attrs = {{"src_format", "NDHWC"}, {"dst_format", "NCDHW"}},
         .other_dtypes = false});
  refuses("DataFormatVecPermute", {ints({1, 2, 3})});
  refuses("DataFormatVecPermute", {Tensor::zeros(DType::kInt32, {2, 4})});
}

TEST(ArrayOps, Sums) {
  check({.op = "AccumulateNV2",
         .inputs = {numbers({2, 3}, 1), numbers({2, 3}, 2), numbers({2, 3}, 3)},
         .attrs = {{"shape", PartialShape({2, 3})}},
         .unlike_tensorflow = "its graphs replace it before it runs"});
  check({.op = "ParallelConcat",
         .inputs = {numbers({1, 3}, 1), numbers({1, 3}, 2)},
         .attrs = {{"shape", PartialShape({2, 3})}}});
  refuses("ParallelConcat", {numbers({1, 3}), numbers({2, 3})}, {{"shape", PartialShape({2, 3})}});
}

TEST(ArrayOps, IsotonicRegression) {
  const auto gives = [](const Tensor& x, const Tensor& y, const Tensor& segments) {
    check({.op = "IsotonicRegression", .inputs = {x}, .expect = {y, segments}, .other_dtypes = false});
  };
  gives(Tensor::vector<float>({3, 1, 2, 2, 5, 4}), Tensor::vector<float>({3, 2.8f, 2.8f, 2.8f, 2.8f, 2.8f}),
        Tensor::vector<std::int32_t>({0, 1, 1, 1, 1, 1}));
  gives(Tensor::of<float>({3, 3}, {1, 1, 1, 3, 2, 1, 1, 2, 3}), Tensor::of<float>({3, 3}, {1, 1, 1, 3, 2, 1, 2, 2, 2}),
        Tensor::of<std::int32_t>({3, 3}, {0, 1, 2, 0, 1, 2, 0, 0, 0}));
  gives(Tensor::scalar(1.0f), Tensor::scalar(1.0f), Tensor::scalar(std::int32_t{0}));
  gives(Tensor::zeros(DType::kFloat32, {2, 0}), Tensor::zeros(DType::kFloat32, {2, 0}),
        Tensor::zeros(DType::kInt32, {2, 0}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  gives(Tensor::vector<float>({1, nan, 2}), Tensor::vector<float>({1, nan, 2}),
        Tensor::vector<std::int32_t>({0, 1, 2}));
  check({.op = "IsotonicRegression",
         .inputs = {Tensor::vector<std::int32_t>({1, 3, 2, 0})},
         .attrs = {{"output_dtype", DType::kFloat64}},
         .expect = {Tensor::vector<double>({2, 2, 2, 0}), Tensor::vector<std::int32_t>({0, 0, 1, 2})},
         .other_dtypes = false});
  check({.op = "IsotonicRegression", .inputs = {numbers({5, 40})}, .other_dtypes = false});
}

TEST(ArrayOps, CompareAndBitpack) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto packs = [](const Tensor& x, const Tensor& threshold, const Tensor& y) {
    check({.op = "CompareAndBitpack", .inputs = {x, threshold}, .expect = {y}, .other_dtypes = false});
  };
  packs(Tensor::of<float>({2, 8}, {1, -1, 2, nan, 0, 3, -2, 0.5, -1, -1, -1, -1, -1, -1, -1, 9}), Tensor::scalar(0.0f),
        Tensor::of<std::uint8_t>({2, 1}, {0b10100101, 1}));
  packs(Tensor::vector<std::int64_t>({5, 6, 7, 6, 5, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 6}), Tensor::scalar(std::int64_t{5}),
        Tensor::vector<std::uint8_t>({0b01110110, 1}));
  const Tensor truths = Tensor::vector<bool>({true, false, false, true, true, true, false, true});
  for (const bool threshold : {false, true})
    packs(truths, Tensor::scalar(threshold), Tensor::vector<std::uint8_t>({0b10011101}));
  packs(Tensor::zeros(DType::kFloat16, {0, 8}), Tensor::zeros(DType::kFloat16, {}),
        Tensor::zeros(DType::kUint8, {0, 1}));
  refuses("CompareAndBitpack", {numbers({7}), Tensor::scalar(0.0f)});
  refuses("CompareAndBitpack", {Tensor::scalar(1.0f), Tensor::scalar(0.0f)});
  refuses("CompareAndBitpack", {numbers({8}), numbers({1})});
}

TEST(ArrayOps, SliceAssignment) {
  const Tensor x = Tensor::of<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto assigns = [&](const Tensor& begin, const Tensor& end, const Tensor& strides, const Tensor& value,
                           AttrMap masks = {}) {
    check({.op = "TensorStridedSliceUpdate", .inputs = {x, begin, end, strides, value}, .attrs = masks});
    check_both({.op = "StridedSliceAssign", .inputs = {x, begin, end, strides, value}, .attrs = masks},
               "ResourceStridedSliceAssign");
  };
  assigns(ints({1}), ints({3}), ints({1}), numbers({2, 4}));
  assigns(ints({0, 1}), ints({3, 4}), ints({2, 2}), numbers({2, 2}));
  assigns(ints({0, 1}), ints({3, 4}), ints({1, 1}), Tensor::scalar(7.0f));
  assigns(ints({0, 1}), ints({3, 4}), ints({1, 1}), numbers({3, 1}));
  assigns(ints({0, 1}), ints({3, 4}), ints({1, 1}), numbers({1, 3}));
  assigns(ints({2, 3}), ints({-4, -5}), ints({-1, -2}), numbers({3, 2}));
  assigns(ints({1}), ints({2}), ints({1}), numbers({4}), {{"shrink_axis_mask", 1}});
  assigns(ints({0, 2}), ints({0, 3}), ints({1, 1}), numbers({3}),
          {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
  assigns(ints({0, 1}), ints({0, 2}), ints({1, 1}), numbers({1, 1, 4}), {{"new_axis_mask", 1}});
  assigns(ints({1}), ints({1}), ints({1}), Tensor::zeros(DType::kFloat32, {0, 4}));
  refuses("TensorStridedSliceUpdate", {x, ints({1}), ints({3}), ints({1}), numbers({3})});
  refuses("TensorStridedSliceUpdate", {x, ints({1}), ints({3}), ints({0}), numbers({4})});
}

}  // namespace
}  // namespace argosy
