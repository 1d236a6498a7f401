#include "argosy/ops/segment/segment.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor int64s(std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); }

TEST(SegmentOps, Sorted) {
  const Tensor x = Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto is = [&](const char* op, std::initializer_list<float> y) {
    check({.op = op, .inputs = {x, ints({0, 0, 2, 2})}, .expect = {Tensor::of<float>({3, 2}, y)}});
  };
  is("SegmentSum", {4, 6, 0, 0, 12, 14});
  is("SegmentMean", {2, 3, 0, 0, 6, 7});
  is("SegmentMax", {3, 4, 0, 0, 7, 8});
  is("SegmentMin", {1, 2, 0, 0, 5, 6});
  is("SegmentProd", {3, 8, 1, 1, 35, 48});
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"}) {
    check({.op = op, .inputs = {random_tensor(DType::kFloat32, {5, 2, 3}, 1, 0.5, 2), int64s({0, 1, 1, 1, 3})}});
    check({.op = op,
           .inputs = {Tensor::vector<float>({2, 0, 3}), ints({0, 0, 0})},
           .check_gradient = op != std::string_view("SegmentMin")});
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {0, 2}), ints({})}, .check_gradient = false});
    check(
        {.op = op, .inputs = {random_tensor(DType::kFloat32, {300, 70}), int64s({})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({0, 1, 0, 2})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({-1, 0, 0, 2})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({0, 1})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, int64s({0, 0, 0, INT64_MAX})}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {Tensor::scalar(1.0f), ints({0})}, .error = Code::kInvalidArgument});
  }
  // Of infinities and NaN alone there is nothing else.
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor special = Tensor::of<float>({4, 2}, {-inf, inf, -inf, nan, inf, -inf, 1, 2});
  check({.op = "SegmentMax",
         .inputs = {special, ints({0, 1, 2, 2})},
         .expect = {Tensor::of<float>({3, 2}, {-inf, inf, -inf, nan, inf, 2})},
         .check_gradient = false});
  check({.op = "SegmentMin",
         .inputs = {special, ints({0, 1, 2, 2})},
         .expect = {Tensor::of<float>({3, 2}, {-inf, inf, -inf, nan, 1, -inf})},
         .check_gradient = false});
  check({.op = "SegmentMean",
         .inputs = {ints({1, 2, 4}), ints({0, 0, 0})},
         .expect = {ints({2})},
         .other_dtypes = false});
}

TEST(SegmentOps, Unsorted) {
  const Tensor x = Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const float low = std::numeric_limits<float>::lowest();
  const float high = std::numeric_limits<float>::max();
  const auto is = [&](const char* op, std::initializer_list<float> y) {
    check({.op = op,
           .inputs = {x, ints({2, -1, 0, 2}), Tensor::scalar(3)},
           .expect = {Tensor::of<float>({3, 2}, y)},
           .other_dtypes = false,
           .check_gradient = false});  // beside the extremes of an empty segment no difference is finite
  };
  is("UnsortedSegmentSum", {5, 6, 0, 0, 8, 10});
  is("UnsortedSegmentProd", {5, 6, 1, 1, 7, 16});
  is("UnsortedSegmentMax", {5, 6, low, low, 7, 8});
  is("UnsortedSegmentMin", {5, 6, high, high, 1, 2});
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {5, 2, 3}, 1, 0.5, 2), int64s({1, 0, 1, -5, 2}),
                      Tensor::scalar(3)}});
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {2, 2, 3}, 1, 0.5, 2),
                      Tensor::of<std::int32_t>({2, 2}, {1, 0, 1, 1}), Tensor::scalar(std::int64_t{2})}});
    check({.op = op,  // rows of zeros that belong nowhere
           .inputs = {Tensor::of<float>({4, 2}, {0, 0, 3, -4, 0, 0, 5, -6}), ints({-1, 0, -2, 0}), Tensor::scalar(1)}});
    check({.op = op,
           .inputs = {Tensor::zeros(DType::kFloat32, {0, 2}), ints({}), Tensor::scalar(2)},
           .check_gradient = false});
    check({.op = op, .inputs = {x, ints({0, 1, 2, 0}), Tensor::scalar(2)}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({0, 1, 1, 0}), Tensor::scalar(-1)}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({0, 1}), Tensor::scalar(2)}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, ints({0, 1, 1, 0}), ints({2, 2})}, .error = Code::kInvalidArgument});
  }
  check({.op = "UnsortedSegmentProd",
         .inputs = {Tensor::vector<float>({2, 0, 3, 0, 0}), ints({0, 0, 0, 1, 1}), Tensor::scalar(2)}});
}

TEST(SegmentOps, Counting) {
  const Tensor values = ints({1, 3, 1, 9, 0});
  check({.op = "Bincount",
         .inputs = {values, Tensor::scalar(4), Tensor::zeros(DType::kInt32, {0})},
         .expect = {ints({1, 2, 0, 1})},
         .other_dtypes = false});
  check({.op = "Bincount",
         .inputs = {values, Tensor::scalar(4), Tensor::vector<float>({1, 2, 3, 4, 5})},
         .expect = {Tensor::vector<float>({5, 4, 0, 2})},
         .other_dtypes = false});
  check({.op = "Bincount",
         .inputs = {ints({1, -1}), Tensor::scalar(4), Tensor::zeros(DType::kInt32, {0})},
         .error = Code::kInvalidArgument});
  check({.op = "Bincount",
         .inputs = {values, Tensor::scalar(-4), Tensor::zeros(DType::kInt32, {0})},
         .error = Code::kInvalidArgument});
  check({.op = "Bincount",
         .inputs = {values, Tensor::scalar(4), Tensor::vector<float>({1, 2})},
         .error = Code::kInvalidArgument});
  const Tensor matrix = Tensor::of<std::int64_t>({2, 3}, {1, 1, 0, 2, 7, 2});
  for (const bool binary : {false, true}) {
    check({.op = "DenseBincount",
           .inputs = {matrix, Tensor::scalar(std::int64_t{3}), Tensor::zeros(DType::kFloat32, {0})},
           .attrs = {{"binary_output", binary}},
           .expect = {Tensor::of<float>({2, 3}, {1, binary ? 1.0f : 2.0f, 0, 0, 0, binary ? 1.0f : 2.0f})},
           .other_dtypes = false});
  }
  check({.op = "DenseBincount",
         .inputs = {values, Tensor::scalar(4), Tensor::zeros(DType::kInt32, {0})},
         .other_dtypes = false});
}

}  // namespace
}  // namespace argosy
