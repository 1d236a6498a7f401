#include "argosy/ops/collective/collective.h"

#include <gtest/gtest.h>

#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(ShardBatch, CoversEveryRowOnceWhateverTheWeights) {
  for (const Ints& weights : {Ints{1}, Ints{1, 1}, Ints{1, 1, 1, 1}, Ints{1000, 500}, Ints{3, 0, 5}, Ints{1, 999}}) {
    for (std::int64_t batch = 0; batch < 40; ++batch) {
      std::int64_t next = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto rows = shard_batch(batch, weights, static_cast<std::int64_t>(i));
        ASSERT_TRUE(rows.ok());
        EXPECT_EQ(rows->first, next);
        EXPECT_GE(rows->second, rows->first);
        next = rows->second;
      }
      EXPECT_EQ(next, batch);
    }
  }
}

TEST(ShardBatch, EqualShardsDifferByAtMostOneAndTheFirstIsTheLastToBeEmpty) {
  const Ints four(4, 1);
  EXPECT_EQ(*shard_batch(10, four, 0), (std::pair<std::int64_t, std::int64_t>{0, 3}));
  EXPECT_EQ(*shard_batch(10, four, 3), (std::pair<std::int64_t, std::int64_t>{8, 10}));
  EXPECT_EQ(*shard_batch(1, four, 0), (std::pair<std::int64_t, std::int64_t>{0, 1}));
  EXPECT_EQ(*shard_batch(30, Ints{1000, 500}, 0), (std::pair<std::int64_t, std::int64_t>{0, 20}));
}

TEST(ShardBatch, RefusesWhatCannotBeSharded) {
  EXPECT_EQ(shard_batch(4, Ints{1, 1}, 2).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(shard_batch(4, Ints{0, 0}, 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(shard_batch(4, Ints{-1, 2}, 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(shard_batch(std::int64_t{1} << 62, Ints{1000, 1000}, 0).status().code(), Code::kInvalidArgument);
}

TEST(CollectiveOps, Cases) {
  const Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const AttrMap second = {{"weights", Ints{1, 1}}, {"index", 1}};
  check({.op = "_ShardBatch", .inputs = {x}, .attrs = second, .expect = {Tensor::of<float>({1, 2}, {5, 6})}});
  check({.op = "_ShardBatch", .inputs = {Tensor::scalar(1.0f)}, .attrs = second, .error = Code::kInvalidArgument});
  check({.op = "_ShardWeight",
         .inputs = {x},
         .attrs = {{"weights", Ints{1, 1}}, {"index", 0}, {"T", DType::kFloat64}},
         .expect = {Tensor::scalar(2.0 / 3)},
         .other_dtypes = false});
  const AttrMap last = {{"weights", Ints{2, 1}}, {"index", 1}};
  // Of one task the values are its own.
  check({.op = "_TaskValues",
         .inputs = {x, Tensor::scalar(std::int64_t{7})},
         .attrs = {{"Tin", std::vector<DType>{DType::kFloat32, DType::kInt64}},
                   {"Tout", std::vector<DType>{DType::kFloat32, DType::kInt64}},
                   {"shapes", std::vector<PartialShape>{PartialShape({-1, 2}), PartialShape({})}},
                   {"group", "values"}},
         .expect = {x, Tensor::scalar(std::int64_t{7})},
         .other_dtypes = false});
  const auto number = [](std::int64_t n) { return Tensor::scalar(n); };
  check({.op = "_LocalSize", .inputs = {number(7)}, .attrs = last, .expect = {number(2), number(5)}});
  check({.op = "_LocalSize", .inputs = {number(-7)}, .attrs = last, .error = Code::kInvalidArgument});
  check({.op = "_ScaleNonempty",
         .inputs = {x, Tensor::scalar(0.5f)},
         .expect = {Tensor::of<float>({3, 2}, {.5, 1, 1.5, 2, 2.5, 3})},
         .constant_inputs = {1}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check({.op = "_ScaleNonempty",
         .inputs = {Tensor::vector<float>({nan, 1}), Tensor::scalar(0.0f)},
         .expect = {Tensor::vector<float>({0, 0})},
         .check_gradient = false});
}

TEST(CollectiveOps, ThoseThatMeetNobody) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, -4}), y = Tensor::of<float>({2, 2}, {10, -20, 3, 5});
  const auto reduced = [&](const char* reduction, std::vector<float> expect) {
    OpCase c{.op = "NcclReduce",
             .inputs = {x, y},
             .attrs = {{"reduction", reduction}, {"num_devices", 2}},
             .expect = {Tensor::of<float>({2, 2}, expect)}};
    c.check_gradient = std::string_view(reduction) == "sum";  // TensorFlow has no other
    check(c);
  };
  reduced("sum", {11, -18, 6, 1});
  reduced("prod", {10, -40, 9, -20});
  reduced("min", {1, -20, 3, -4});
  reduced("max", {10, 2, 3, 5});
  check({.op = "NcclReduce",
         .inputs = {x, Tensor::vector<float>({1})},
         .attrs = {{"reduction", "sum"}, {"num_devices", 2}},
         .error = Code::kInvalidArgument});
  check({.op = "NcclBroadcast", .inputs = {x}, .attrs = {{"shape", PartialShape{2, 2}}}, .expect = {x}});
  check({.op = "NcclBroadcast",
         .inputs = {x},
         .attrs = {{"shape", PartialShape{3, 2}}},
         .error = Code::kInvalidArgument});
  const Tensor table = Tensor::of<std::int32_t>({2, 2}, {0, 1, 2, 3});
  const auto number = [](std::int32_t n) { return Tensor::scalar(n); };
  check(
      {.op = "CollectiveAssignGroupV2", .inputs = {table, number(2), number(100)}, .expect = {number(2), number(101)}});
  check({.op = "CollectiveAssignGroupV2",
         .inputs = {table, number(7), number(100)},
         .error = Code::kInvalidArgument,
         .error_contains = "device_index 7 is not found"});
}

TEST(CollectiveOps, MembersWithoutAStepAreRefused) {
  check({.op = "NcclAllReduce",
         .inputs = {Tensor::vector<float>({1})},
         .attrs = {{"reduction", "sum"}, {"num_devices", 2}, {"shared_name", "c"}},
         .error = Code::kFailedPrecondition,
         .error_contains = "ranks meet within a step",
         .check_gradient = false,
         .unlike_tensorflow = "TensorFlow has no kernel without a GPU"});
}

TEST(CollectiveOps, ShardsKnowTheirShapes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {10, 4});
  EXPECT_EQ(shard_batch(x, {1, 1, 1, 1}, 0).shape().to_string(), "[3,4]");
  EXPECT_EQ(shard_batch(placeholder(g, DType::kFloat32, {-1, 4}), {1, 1}, 0).shape().to_string(), "[?,4]");
}

TEST(CollectiveOps, AnAllReduceChecksItsShards) {
  Graph g;
  const Value a = placeholder(g, DType::kFloat32, {2}), b = placeholder(g, DType::kFloat32, {3});
  const auto sums = all_reduce({a, b, a, b}, {.group = "g", .shards = {0, 1}, .total = 2});
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[1].shape().to_string(), "[3]");
  all_reduce({a, b, b, a}, {.group = "g", .shards = {0, 1}, .total = 2});
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
