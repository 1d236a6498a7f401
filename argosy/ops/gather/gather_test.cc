#include "argosy/ops/gather/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::vector<std::int32_t>(values); }
Tensor longs(std::initializer_list<std::int64_t> values) { return Tensor::vector<std::int64_t>(values); }
Tensor floats(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
const char* const kNoKernelThere = "TensorFlow has the op, but no kernel for it";
Tensor one(std::int32_t value) { return Tensor::scalar(value); }
Tensor counting(const Shape& shape) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}
void fails(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}, const char* why = "") {
  check({.op = op,
         .inputs = std::move(inputs),
         .attrs = std::move(attrs),
         .error = Code::kInvalidArgument,
         .error_contains = why});
}

TEST(GatherOps, Gather) {
  const Tensor x = counting({3, 2});
  check({.op = "Gather", .inputs = {x, ints({2, 0, 2})}, .expect = {Tensor::of<float>({3, 2}, {4, 5, 0, 1, 4, 5})}});
  check({.op = "GatherV2",
         .inputs = {x, ints({2, 0, 2}), one(0)},
         .expect = {Tensor::of<float>({3, 2}, {4, 5, 0, 1, 4, 5})}});
  check({.op = "GatherV2",
         .inputs = {x, ints({1, 1}), one(-1)},
         .expect = {Tensor::of<float>({3, 2}, {1, 1, 3, 3, 5, 5})}});
  check({.op = "GatherV2", .inputs = {x, one(1), one(1)}, .expect = {floats({1, 3, 5})}});
  check({.op = "GatherV2",
         .inputs = {counting({2, 3}), Tensor::of<std::int32_t>({2, 2}, {0, 2, 1, 1}), one(1)},
         .attrs = {{"batch_dims", 1}},
         .expect = {Tensor::of<float>({2, 2}, {0, 2, 4, 4})}});
  check({.op = "GatherV2",
         .inputs = {counting({2, 3, 4, 2}), Tensor::of<std::int64_t>({2, 2}, {3, 0, 1, 1}), one(2)},
         .attrs = {{"batch_dims", -1}}});
  check({.op = "GatherV2",
         .inputs = {Tensor::vector<std::string>({"a", "b"}), ints({1}), one(0)},
         .expect = {Tensor::vector<std::string>({"b"})}});
  check({.op = "_GatherGrad",
         .inputs = {counting({3, 2}), ints({1, 1}), ints({3, 4}), one(1)},
         .expect = {Tensor::of<float>({3, 4}, {0, 1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0})}});
  fails("GatherV2", {x, one(0), one(2)});
  fails("GatherV2", {one(0), one(0), one(0)});
  fails("GatherV2", {x, one(0), one(0)}, {{"batch_dims", 1}});
  for (const std::int32_t bad : {-1, 3}) {
    const auto out = evaluate_op(*builtin_ops().find("GatherV2"), {}, {x, ints({0, bad}), one(0)});
    EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
    EXPECT_NE(out.status().message().find("indices[1]"), std::string::npos) << out.status().to_string();
  }
}

// Of an axis that is not known yet: what no axis allows is refused. It gave a shape of 2^31 sizes.
TEST(GatherOps, BatchDimsOfAnUnknownAxis) {
  const auto shape_of = [](std::int64_t batch_dims) {
    Graph graph;
    const Value x = placeholder(graph, DType::kFloat32, {2, 3, 4}, "x");
    const Value at = placeholder(graph, DType::kInt64, {2, 5}, "at");
    const Value axis = placeholder(graph, DType::kInt32, {}, "axis");
    const Value y = graph.add("GatherV2", {x, at, axis}, {{"batch_dims", batch_dims}});
    return graph.status().ok() ? y.shape().to_string() : std::string(code_name(graph.status().code()));
  };
  EXPECT_EQ(shape_of(1), "[?,?,?]");
  EXPECT_EQ(shape_of(-1), "[?,?,?]");
  EXPECT_EQ(shape_of(0), "[?,?,?,?]");
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t bad :
       {std::int64_t{3}, std::int64_t{-3}, -(std::int64_t{1} << 31), Limits::max(), Limits::min()})
    EXPECT_EQ(shape_of(bad), "INVALID_ARGUMENT") << bad;
}

TEST(GatherOps, GatherNdAndScatters) {
  const Tensor x = counting({2, 3});
  check({.op = "GatherNd", .inputs = {x, Tensor::of<std::int32_t>({2, 2}, {0, 1, 1, 2})}, .expect = {floats({1, 5})}});
  check({.op = "GatherNd",
         .inputs = {x, Tensor::of<std::int32_t>({1, 1}, {1})},
         .expect = {Tensor::of<float>({1, 3}, {3, 4, 5})}});
  check({.op = "GatherNd", .inputs = {x, Tensor::of<std::int32_t>({2, 0}, {})}});
  check({.op = "GatherNd",
         .inputs = {x, Tensor::of<std::int32_t>({2, 1}, {1, 2})},
         .attrs = {{"bad_indices_policy", "IGNORE"}},
         .expect = {Tensor::of<float>({2, 3}, {3, 4, 5, 0, 0, 0})}});
  check({.op = "ScatterNd",
         .inputs = {Tensor::of<std::int32_t>({3, 1}, {3, 0, 3}), floats({1, 2, 3}), ints({4})},
         .expect = {floats({2, 0, 0, 4})}});
  check({.op = "ScatterNd",
         .inputs = {Tensor::of<std::int32_t>({1, 1}, {1}), counting({1, 2}), ints({2, 2})},
         .expect = {Tensor::of<float>({2, 2}, {0, 0, 0, 1})}});
  const Tensor at = Tensor::of<std::int32_t>({2, 2}, {0, 0, 1, 2});
  const Tensor updates = floats({7, 8});
  check({.op = "TensorScatterUpdate",
         .inputs = {x, at, updates},
         .expect = {Tensor::of<float>({2, 3}, {7, 1, 2, 3, 4, 8})}});
  check({.op = "TensorScatterAdd",
         .inputs = {x, at, updates},
         .expect = {Tensor::of<float>({2, 3}, {7, 1, 2, 3, 4, 13})}});
  check({.op = "TensorScatterSub",
         .inputs = {x, at, updates},
         .expect = {Tensor::of<float>({2, 3}, {-7, 1, 2, 3, 4, -3})}});
  check({.op = "TensorScatterMax",
         .inputs = {x, at, floats({7, 4})},
         .expect = {Tensor::of<float>({2, 3}, {7, 1, 2, 3, 4, 5})}});
  check({.op = "TensorScatterMin",
         .inputs = {x, at, floats({7, 4})},
         .expect = {Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 4})}});
  check({.op = "ScatterNdNonAliasingAdd",
         .inputs = {x, at, updates},
         .expect = {Tensor::of<float>({2, 3}, {7, 1, 2, 3, 4, 13})}});
  fails("GatherNd", {x, Tensor::of<std::int32_t>({1, 3}, {0, 0, 0})});
  fails("GatherNd", {x, one(0)});
  fails("ScatterNd", {Tensor::of<std::int32_t>({1, 1}, {1}), floats({1, 2}), ints({4})});
  fails("ScatterNd", {Tensor::of<std::int32_t>({1, 1}, {1}), floats({1}), ints({-4})});
  fails("TensorScatterAdd", {x, at, floats({7})});
  fails("TensorScatterAdd", {one(1), Tensor::of<std::int32_t>({1, 0}, {}), ints({7})});
  const auto out = evaluate_op(*builtin_ops().find("ScatterNd"), {},
                               {Tensor::of<std::int32_t>({1, 1}, {4}), floats({1}), ints({4})});
  EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
}

TEST(GatherOps, OneHotWhereBucketize) {
  check({.op = "OneHot",
         .inputs = {longs({0, 2, -1, 3}), one(3), Tensor::scalar(1.f), Tensor::scalar(0.f)},
         .expect = {Tensor::of<float>({4, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})}});
  check({.op = "OneHot",
         .inputs = {longs({0, 2}), one(3), Tensor::scalar(5.f), Tensor::scalar(1.f)},
         .attrs = {{"axis", 0}},
         .expect = {Tensor::of<float>({3, 2}, {5, 1, 1, 1, 1, 5})}});
  check({.op = "OneHot",
         .inputs = {longs({1}), one(2), Tensor::scalar("on"), Tensor::scalar("off")},
         .expect = {Tensor::of<std::string>({1, 2}, {"off", "on"})}});
  fails("OneHot", {longs({0}), one(-1), Tensor::scalar(1.f), Tensor::scalar(0.f)});
  fails("OneHot", {longs({0}), one(1), Tensor::scalar(1.f), Tensor::scalar(0.f)}, {{"axis", 2}});
  fails("OneHot", {longs({0}), ints({1}), Tensor::scalar(1.f), Tensor::scalar(0.f)});
  check({.op = "Where",
         .inputs = {Tensor::of<bool>({2, 2}, {true, false, true, true})},
         .expect = {Tensor::of<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1})}});
  check({.op = "Where",
         .inputs = {floats({0, -0.f, std::nanf(""), 2})},
         .expect = {Tensor::of<std::int64_t>({2, 1}, {2, 3})},
         .unlike_tensorflow = "has no kernel for half"});
  check({.op = "Where", .inputs = {Tensor::scalar(true)}, .error = Code::kInvalidArgument});
  check({.op = "Bucketize",
         .inputs = {floats({-5, 10, 10.5, 150})},
         .attrs = {{"boundaries", std::vector<float>{0, 10, 100}}},
         .expect = {ints({0, 2, 2, 3})}});
  fails("Bucketize", {floats({1})}, {{"boundaries", std::vector<float>{1, 0}}}, "sorted");
}

TEST(GatherOps, SparseToDense) {
  const Tensor at = Tensor::of<std::int32_t>({2, 2}, {0, 1, 1, 0});
  check({.op = "SparseToDense",
         .inputs = {at, ints({2, 2}), floats({5, 6}), Tensor::scalar(1.f)},
         .expect = {Tensor::of<float>({2, 2}, {1, 5, 6, 1})}});
  check({.op = "SparseToDense",
         .inputs = {one(1), ints({3}), one(9), one(0)},
         .expect = {ints({0, 9, 0})},
         .other_dtypes = false});
  check({.op = "SparseToDense",
         .inputs = {ints({0, 2}), ints({3}), one(9), one(0)},
         .expect = {ints({9, 0, 9})},
         .other_dtypes = false});
  const auto out_of_order = [](const Tensor& indices, bool validate) {
    return evaluate_op(*builtin_ops().find("SparseToDense"), {{"validate_indices", validate}},
                       {indices, ints({3}), one(9), one(0)})
        .status()
        .code();
  };
  EXPECT_EQ(out_of_order(ints({2, 0}), true), Code::kInvalidArgument);
  EXPECT_EQ(out_of_order(ints({1, 1}), true), Code::kInvalidArgument);
  EXPECT_EQ(out_of_order(ints({2, 0}), false), Code::kOk);
  EXPECT_EQ(out_of_order(ints({3}), false), Code::kInvalidArgument);
}

TEST(GatherOps, Unique) {
  const float nan = std::nanf("");
  check({.op = "Unique",
         .inputs = {ints({4, 2, 4, 4, 1})},
         .expect = {ints({4, 2, 1}), ints({0, 1, 0, 0, 2})},
         .other_dtypes = false});
  check({.op = "UniqueWithCounts",
         .inputs = {ints({4, 2, 4, 4, 1})},
         .expect = {ints({4, 2, 1}), ints({0, 1, 0, 0, 2}), ints({3, 1, 1})},
         .other_dtypes = false});
  check({.op = "Unique",
         .inputs = {floats({nan, 0, nan, -0.f})},
         .expect = {floats({nan, 0, nan}), ints({0, 1, 2, 1})},
         .unlike_tensorflow = "tells 0 from -0 in 16-bit floats alone"});
  check({.op = "Unique",
         .inputs = {Tensor::vector<std::string>({"b", "a", "b"})},
         .expect = {Tensor::vector<std::string>({"b", "a"}), ints({0, 1, 0})}});
  check({.op = "UniqueV2",
         .inputs = {Tensor::of<std::int32_t>({3, 2}, {1, 0, 1, 0, 2, 0}), longs({0})},
         .expect = {Tensor::of<std::int32_t>({2, 2}, {1, 0, 2, 0}), ints({0, 0, 1})},
         .other_dtypes = false});
  check({.op = "UniqueWithCountsV2",
         .inputs = {Tensor::of<std::int32_t>({2, 3}, {1, 2, 1, 3, 4, 3}), longs({-1})},
         .expect = {Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 4}), ints({0, 1, 0}), ints({2, 1})},
         .other_dtypes = false});
  check({.op = "UniqueV2",
         .inputs = {ints({3, 3}), longs({})},
         .expect = {ints({3}), ints({0, 0})},
         .other_dtypes = false});
  for (const auto& [shape, axis, distinct] :  // slices without elements are all equal
       {std::tuple{Shape{0, 3}, 1, Shape{0, 1}}, {Shape{2, 0, 3}, 0, Shape{1, 0, 3}}, {Shape{0}, 0, Shape{0}}}) {
    const std::int64_t n = shape[axis];
    check({.op = "UniqueWithCountsV2",
           .inputs = {Tensor::zeros(DType::kInt32, shape), longs({axis})},
           .expect = {Tensor::zeros(DType::kInt32, distinct), Tensor::zeros(DType::kInt32, {n}),
                      n == 0 ? ints({}) : ints({static_cast<std::int32_t>(n)})},
           .other_dtypes = false});
  }
  fails("Unique", {Tensor::of<std::int32_t>({1, 2}, {1, 2})});
  fails("UniqueV2", {Tensor::of<std::int32_t>({1, 2}, {1, 2}), longs({})});
  fails("UniqueV2", {ints({1, 2}), longs({1})});
  check({.op = "ListDiff",
         .inputs = {ints({1, 2, 3, 2, 5}), ints({2, 9})},
         .expect = {ints({1, 3, 5}), ints({0, 2, 4})},
         .other_dtypes = false});
}

TEST(GatherOps, PartitionAndStitch) {
  check(
      {.op = "DynamicPartition",
       .inputs = {counting({4, 2}), ints({1, 0, 1, 1})},
       .attrs = {{"num_partitions", 3}},
       .expect = {Tensor::of<float>({1, 2}, {2, 3}), Tensor::of<float>({3, 2}, {0, 1, 4, 5, 6, 7}), counting({0, 2})}});
  check({.op = "DynamicPartition",
         .inputs = {counting({2, 2}), Tensor::of<std::int32_t>({2, 2}, {1, 0, 1, 1})},
         .attrs = {{"num_partitions", 2}},
         .expect = {floats({1}), floats({0, 2, 3})}});
  fails("DynamicPartition", {counting({4}), ints({0, 0})}, {{"num_partitions", 1}});
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    check({.op = op,
           .inputs = {ints({2, 0}), one(1), Tensor::of<float>({2, 2}, {5, 6, 1, 2}), floats({3, 4})},
           .attrs = {{"N", 2}},
           .expect = {Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})}});
    fails(op, {ints({-1}), floats({1})});
    fails(op, {ints({1}), floats({1, 2})});
    fails(op, {ints({1}), ints({1}), counting({1, 2}), counting({1, 3})}, {{"N", 2}});
  }
}

// Rows that a GPU sorts in parts: three runs of 256 elements and a shorter one, most values several times.
TEST(GatherOps, TopKOfLongRows) {
  constexpr std::int64_t kRows = 2, kLength = 900;
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < kRows * kLength; ++i) numbers.push_back(static_cast<float>(i * 7919 % 211 - 100));
  for (const std::int64_t k : {kLength, std::int64_t{300}, std::int64_t{40}, std::int64_t{3}}) {
    std::vector<float> values;
    std::vector<std::int32_t> places;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* const row = numbers.data() + r * kLength;
      std::vector<std::int32_t> order(kLength);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
      for (std::int64_t i = 0; i < k; ++i) {
        places.push_back(order[static_cast<std::size_t>(i)]);
        values.push_back(row[places.back()]);
      }
    }
    check({.op = "TopKV2",
           .inputs = {Tensor::of<float>({kRows, kLength}, numbers), one(static_cast<std::int32_t>(k))},
           .expect = {Tensor::of<float>({kRows, k}, values), Tensor::of<std::int32_t>({kRows, k}, places)},
           .check_gradient = false});
  }
}

// It has no float64 for finite differences to be taken in.
TEST(GatherOps, ApproxTopKHasTheGradientOfTopK) {
  std::vector<Tensor> slopes;
  for (const char* op : {"TopKV2", "ApproxTopK"}) {
    Graph g;
    const Value x = constant(g, random_tensor(DType::kFloat32, {3, 7}, 5));
    const Value weights = constant(g, random_tensor(DType::kFloat32, {3, 2}, 6));
    const Value top = std::string(op) == "TopKV2" ? g.add(op, {x, constant(g, std::int32_t{2})})
                                                  : g.add(op, {x}, {{"k", std::int64_t{2}}});
    const auto dx = gradients(g, {g.add("Mul", {top, weights})}, {x});
    const auto got = evaluate(g, {}, {dx[0].endpoint()});
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    slopes.push_back((*got)[0]);
  }
  EXPECT_EQ(difference(slopes[1], slopes[0], 0), "");
  EXPECT_NE(difference(slopes[1], Tensor::zeros(DType::kFloat32, {3, 7}), 0), "");
}

TEST(GatherOps, TopK) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::of<float>({2, 4}, {1, 3, 3, 2, 0, -1, 5, 4});
  const std::vector<Tensor> top = {Tensor::of<float>({2, 2}, {3, 3, 5, 4}),
                                   Tensor::of<std::int32_t>({2, 2}, {1, 2, 2, 3})};
  check({.op = "TopKV2", .inputs = {x, one(2)}, .expect = top, .check_gradient = false});  // ties have no slope
  check({.op = "TopK",
         .inputs = {x},
         .attrs = {{"k", 2}},
         .expect = top,
         .check_gradient = false,
         .unlike_tensorflow = kNoKernelThere});
  check({.op = "TopKV2", .inputs = {random_tensor(DType::kFloat32, {3, 2, 7}), one(3)}});
  check({.op = "TopK",
         .inputs = {random_tensor(DType::kFloat32, {7})},
         .attrs = {{"k", 7}},
         .unlike_tensorflow = kNoKernelThere});
  check({.op = "TopKV2", .inputs = {x, one(4)}, .check_gradient = false});
  check({.op = "TopKV2",
         .inputs = {floats({1, nan, 2, nan}), one(3)},
         .expect = {floats({nan, nan, 2}), ints({1, 3, 2})},
         .check_gradient = false,
         .unlike_tensorflow = "where NaN stands there depends on its heap"});
  check({.op = "TopKV2", .inputs = {x, one(0)}});
  check({.op = "ApproxTopK", .inputs = {x}, .attrs = {{"k", 2}}, .expect = top, .check_gradient = false});
  check({.op = "ApproxTopK", .inputs = {random_tensor(DType::kFloat32, {3, 2, 7})}, .attrs = {{"k", 3}}});
  check({.op = "ApproxTopK", .inputs = {x}, .attrs = {{"k", 0}, {"aggregate_to_topk", false}}});
  check({.op = "ApproxTopK",
         .inputs = {x},
         .attrs = {{"k", 5}},
         .error = Code::kInvalidArgument,
         .error_contains = "input must have at least k columns. Had 4, needed 5"});
  check({.op = "ApproxTopK",
         .inputs = {x},
         .attrs = {{"k", 1}, {"is_max_k", false}},
         .error = Code::kUnimplemented,
         .error_contains = "reduction_dimension -1 and is_max_k true"});
  fails("TopKV2", {x, one(5)});
  fails("TopKV2", {x, one(-1)});
  fails("TopKV2", {Tensor::scalar(1.f), one(0)});
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor predictions = Tensor::of<float>({5, 3}, {1, 2, 3, 1, 2, 3, 1, 1, 1, 1, inf, 2, 1, 2, 3});
  const Tensor expect = Tensor::vector<bool>({false, true, true, false, false});
  check({.op = "InTopKV2",
         .inputs = {predictions, ints({0, 1, 2, 2, 7}), one(2)},
         .expect = {expect},
         .other_dtypes = false});
  check({.op = "InTopK",
         .inputs = {predictions, ints({0, 1, 2, 2, 7})},
         .attrs = {{"k", 2}},
         .expect = {expect},
         .other_dtypes = false});
  fails("InTopKV2", {predictions, ints({0}), one(2)});
}

// Two sequences of three beams, the second of them one step shorter; beam 2 of the first ends early.
TEST(GatherOps, BeamsAreFollowedBack) {
  const Tensor steps = Tensor::of<std::int32_t>({3, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 9, 8, 1, 2, 3, 3, 4, 5, 6, 7, 8});
  const Tensor parents = Tensor::of<std::int32_t>({3, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 1, 0, 2, 0, 1, 7, 7, 7});
  check({.op = "GatherTree",
         .inputs = {steps, parents, ints({5, 2}), one(9)},
         .expect = {Tensor::of<std::int32_t>({3, 2, 3}, {2, 1, 2, 6, 5, 4, 8, 7, 9, 1, 2, 3, 3, 4, 9, 9, 9, 9})},
         .other_dtypes = false});
  fails("GatherTree", {steps, parents, ints({3, 3}), one(9)}, {}, "parent 7");
  fails("GatherTree", {steps, parents, ints({3}), one(9)});
}

TEST(GatherOps, SizesFlowThroughGatherAndStitch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, PartialShape::kUnknown, 3});
  const Value sizes = g.add("Shape", {x});
  const Value picked = gather(sizes, constant(g, Tensor::vector<std::int32_t>({2, 1})));
  EXPECT_EQ(*g.known_ints(picked.endpoint()), (PartialInts{3, std::nullopt}));
  const Value merged =
      dynamic_stitch({constant(g, Tensor::vector<std::int32_t>({0, 1, 2})), constant(g, std::int32_t{1})},
                     {sizes, constant(g, std::int32_t{1})});
  EXPECT_EQ(*g.known_ints(merged.endpoint()), (PartialInts{4, 1, 3}));
  EXPECT_TRUE(g.status().ok()) << g.status().to_string();
}

}  // namespace
}  // namespace argosy
