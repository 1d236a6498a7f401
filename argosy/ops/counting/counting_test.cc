#include "argosy/ops/counting/counting.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints64 = std::vector<std::int64_t>;
Tensor ints(const Ints64& v) { return Tensor::vector(v); }
Tensor pairs(const Ints64& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size() / 2), 2}, std::span<const std::int64_t>(v));
}
Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }
const Tensor kNone = Tensor::zeros(DType::kFloat32, {0});
const Tensor kThree = Tensor::scalar(std::int64_t{3});

void is(const char* op, std::vector<Tensor> x, std::vector<Tensor> y = {}, const AttrMap& attrs = {}) {
  check({.op = op, .inputs = std::move(x), .attrs = attrs, .expect = std::move(y), .other_dtypes = false});
}
void fails(const char* op, std::vector<Tensor> x, const char* why, const AttrMap& attrs = {}, std::string unlike = "") {
  check({.op = op,
         .inputs = std::move(x),
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .error_contains = why,
         .unlike_tensorflow = std::move(unlike)});
}

TEST(Counting, SparseBincount) {
  const Tensor at = pairs({0, 0, 0, 2, 2, 1}), sizes = ints({3, 3}), values = ints({1, 1, 2});
  is("SparseBincount", {at, values, sizes, kThree, kNone}, {Tensor::of<float>({3, 3}, {0, 2, 0, 0, 0, 0, 0, 0, 1})});
  is("SparseBincount", {at, values, sizes, kThree, kNone}, {}, {{"binary_output", true}});
  is("SparseBincount", {at, values, sizes, Tensor::scalar(std::int64_t{2}), floats({1, 2, 4})},
     {Tensor::of<float>({3, 2}, {0, 3, 0, 0, 0, 0})});
  is("SparseBincount", {Tensor::of<std::int64_t>({3, 1}, {0, 0, 2}), values, ints({3}), kThree, kNone},
     {floats({0, 2, 1})});
  is("SparseBincount", {Tensor::of<std::int64_t>({1, 3}, {1, 0, 1}), ints({2}), ints({2, 1, 2}), kThree, kNone});
  is("SparseBincount", {pairs({}), ints({}), ints({2, 2}), kThree, kNone});
  const auto refuses = [](std::vector<Tensor> x, const char* why, std::string unlike = "") {
    fails("SparseBincount", std::move(x), why, {}, std::move(unlike));
  };
  refuses({at, values, sizes, Tensor::scalar(std::int64_t{-3}), kNone}, "size (-3) must be non-negative");
  refuses({at, ints({1, 1}), sizes, kThree, kNone}, "Number of elements in indices (3) and values (2) do not match");
  refuses({at, values, ints({3}), kThree, kNone}, "Index rank (2) and shape rank (1) do not match");
  refuses({pairs({5, 0, 0, 2, 2, 1}), values, sizes, kThree, kNone},
          "Sparse index tuple indices[0, :] = [5, 0] is out of bounds");
  refuses({at, values, ints({3, -3}), kThree, kNone}, "Sparse index tuple indices[0, :] = [0, 0] is out of bounds");
  refuses({at, values, sizes, ints({3}), kNone}, "Shape must be rank 0 but is rank 1");
  refuses({at, values, sizes, kThree, floats({1, 2})}, "must be the same shape", "reads behind the weights");
  refuses({at, ints({1, -1, 2}), sizes, kThree, kNone}, "Input must be non-negative", "counts before the row");
}

TEST(Counting, RaggedBincount) {
  const Tensor splits = ints({0, 1, 3}), values = ints({1, 1, 2});
  is("RaggedBincount", {splits, values, kThree, kNone}, {Tensor::of<float>({2, 3}, {0, 1, 0, 0, 1, 1})});
  is("RaggedBincount", {splits, values, kThree, floats({1, 2, 4})});
  is("RaggedBincount", {splits, values, kThree, floats({1, 2, 4})}, {}, {{"binary_output", true}});
  is("RaggedBincount", {ints({0}), ints({}), kThree, kNone}, {Tensor::zeros(DType::kFloat32, {0, 3})});
  const auto refuses = [](std::vector<Tensor> x, const char* why, std::string unlike = "") {
    fails("RaggedBincount", std::move(x), why, {}, std::move(unlike));
  };
  refuses({ints({0, 2}), values, kThree, kNone}, "Splits must end with the number of values, got 2 instead of 3");
  refuses({ints({1, 3}), values, kThree, kNone}, "Splits must start with 0, not with 1");
  refuses({ints({}), values, kThree, kNone}, "Splits must be non-empty");
  refuses({splits, ints({1, -1, 2}), kThree, kNone}, "Input must be non-negative");
  refuses({splits, values, Tensor::scalar(std::int64_t{-3}), kNone}, "size (-3) must be non-negative");
  refuses({ints({0, 2, 1, 3}), values, kThree, kNone}, "Splits must not descend", "takes splits that descend");
  refuses({splits, values, kThree, floats({1, 2})}, "must be the same shape", "reads behind the weights");
}

TEST(Counting, DenseCounts) {
  const char* op = "DenseCountSparseOutput";
  const AttrMap plain = {{"binary_output", false}};
  const Tensor values = ints({1, 1, 2, 7});
  is(op, {values, kNone}, {Tensor::of<std::int64_t>({3, 1}, {1, 2, 7}), floats({2, 1, 1}), ints({8})}, plain);
  is(op, {values, floats({1, 2, 3, 4})}, {}, plain);
  is(op, {values, floats({1, 2, 3, 4})}, {}, {{"binary_output", true}});
  for (const int most : {0, 2, 5}) is(op, {values, kNone}, {}, {{"binary_output", false}, {"maxlength", most}});
  is(op, {values, kNone}, {}, {{"binary_output", false}, {"minlength", 10}});
  is(op, {values, kNone}, {}, {{"binary_output", false}, {"minlength", 10}, {"maxlength", 5}});
  is(op, {pairs({1, 1, 2, 0}), kNone}, {pairs({0, 1, 1, 0, 1, 2}), floats({2, 1, 1}), ints({2, 3})}, plain);
  is(op, {ints({}), kNone}, {}, plain);
  is(op, {Tensor::zeros(DType::kInt64, {2, 0}), kNone}, {}, plain);
  is(op, {Tensor::vector<std::int32_t>({3, 3}), Tensor::zeros(DType::kInt64, {0})}, {}, plain);
  fails(op, {values, floats({1, 2})}, "Weights and data must have the same shape. Weight shape: [2]; data shape: [4]",
        plain);
  fails(op, {ints({1, -1}), kNone}, "Input values must all be non-negative", plain);
  fails(op, {kThree, kNone}, "Input must be a 1 or 2-dimensional tensor. Got: []", plain);
  fails(op, {ints({std::numeric_limits<std::int64_t>::max()}), kNone}, "no room", plain, "overflows");
}

TEST(Counting, SparseCounts) {
  const char* op = "SparseCountSparseOutput";
  const AttrMap plain = {{"binary_output", false}};
  const Tensor at = pairs({0, 0, 0, 2, 2, 1}), sizes = ints({3, 3}), values = ints({1, 1, 2});
  is(op, {at, values, sizes, kNone}, {pairs({0, 1, 2, 2}), floats({2, 1}), ints({3, 3})}, plain);
  is(op, {at, values, sizes, floats({1, 2, 3})}, {}, plain);
  is(op, {pairs({2, 1, 0, 0, 0, 2}), values, sizes, floats({1, 2, 3})}, {}, plain);
  is(op, {Tensor::of<std::int64_t>({3, 1}, {0, 1, 2}), values, ints({3}), kNone}, {}, plain);
  is(op, {pairs({}), ints({}), sizes, kNone}, {}, plain);
  const auto refuses = [&](std::vector<Tensor> x, const char* why) { fails(op, std::move(x), why, plain); };
  refuses({at, values, sizes, floats({1, 2})},
          "Weights and values must have the same shape. Weight shape: [2]; values shape: [3]");
  refuses({pairs({0, 7, 0, 2, 2, 1}), values, sizes, kNone},
          "Invalid index value at 0: dimension 1 has value 7 which is not in [0, 3) (as given by dense shape");
  refuses({at, ints({1, 2}), sizes, kNone},
          "Number of values must match first dimension of indices.Got 2 values, indices shape: [3,2]");
  refuses({at, values, ints({3}), kNone},
          "Number of dimensions must match second dimension of indices.Got 1 dimensions, indices shape: [3,2]");
  refuses({ints({1, 2, 3}), values, sizes, kNone}, "Input indices must be a 2-dimensional tensor. Got: [3]");
  refuses({at, pairs({1, 1}), sizes, kNone}, "Input values must be a vector. Got: [1,2]");
  refuses({at, values, pairs({1, 1}), kNone}, "Input shape must be a vector. Got: [1,2]");
  refuses({Tensor::zeros(DType::kInt64, {3, 0}), values, ints({}), kNone},
          "The shape argument requires at least one element.");
}

TEST(Counting, RaggedCounts) {
  const char* op = "RaggedCountSparseOutput";
  const AttrMap plain = {{"binary_output", false}};
  const Tensor splits = ints({0, 1, 3}), values = ints({1, 1, 2});
  is(op, {splits, values, kNone}, {pairs({0, 1, 1, 1, 1, 2}), floats({1, 1, 1}), ints({2, 3})}, plain);
  is(op, {splits, values, floats({1, 2, 3})}, {}, plain);
  is(op, {ints({0, 3}), ints({5, 5, 0}), kNone}, {}, {{"binary_output", true}, {"maxlength", 3}});
  const auto refuses = [&](std::vector<Tensor> x, const char* why) { fails(op, std::move(x), why, plain); };
  refuses({ints({0}), values, kNone}, "Must provide at least 2 elements for the splits argument");
  refuses({ints({1, 3}), values, kNone}, "Splits must start with 0, not with 1");
  refuses({ints({0, 5}), values, kNone}, "Splits must end with the number of values, got 5 instead of 3");
  refuses({splits, ints({1, -1, 2}), kNone}, "Input values must all be non-negative");
  refuses({splits, values, floats({1, 2})}, "Weights and values must have the same shape.");
}

TEST(Counting, Builder) {
  Graph graph;
  const SparseCounts counts = count_values(constant(graph, ints({4, 4, 1})), 6);
  const auto got = evaluate(graph, {}, {counts.indices.endpoint(), counts.values.endpoint(), counts.shape.endpoint()});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(difference((*got)[1], ints({1, 2}), 0), "");
  EXPECT_EQ(difference((*got)[2], ints({6}), 0), "");
}

}  // namespace
}  // namespace argosy
