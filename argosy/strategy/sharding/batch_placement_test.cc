#include "argosy/strategy/sharding/batch_placement.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/strategy/sharding/partial_sums.h"

namespace argosy {
namespace {

struct Batch : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  Value w = placeholder(g, DType::kFloat32, {-1}, "w");
  Value fixed = placeholder(g, DType::kFloat32, {4}, "fixed");

  BatchPlacement placement(Value v) {
    EXPECT_TRUE(v.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node(), w.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    return batch_placement_of(g, *axes, v.endpoint());
  }
  PlacementKind kind(Value v) { return placement(v).kind; }
};

using BatchPlacementTest = Batch;

TEST_F(BatchPlacementTest, OfLosses) {
  const Value errors = reduce_sum(square(x), 1);
  EXPECT_EQ(kind(reduce_mean(errors)), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(reduce_sum(errors)), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(reduce_mean(square(x))), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(reduce_mean(reduce_sum(square(x), 0))), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(l2_loss(x)), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(-reduce_mean(errors) * 0.5), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(reduce_sum(errors) / 784.0), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(reshape(reduce_mean(errors), std::vector<std::int64_t>{1})), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(check_numerics(reduce_mean(errors), "the loss")), PlacementKind::kPartialMean);
  EXPECT_EQ(kind(l2_loss(fixed)), PlacementKind::kReplicate);
  EXPECT_EQ(kind(sqrt(reduce_mean(errors))), PlacementKind::kUnknown);
  EXPECT_EQ(kind(reduce_max(errors)), PlacementKind::kUnknown);
  EXPECT_EQ(kind(matmul(x, x, {.transpose_a = true})), PlacementKind::kPartialSum);
}

TEST_F(BatchPlacementTest, OfWeightedMeansAndCounts) {
  const Value errors = reduce_sum(square(x), 1);
  const BatchPlacement weighted = placement(reduce_sum(errors * w) / reduce_sum(w));
  EXPECT_EQ(weighted.kind, PlacementKind::kPartialWeighted);
  EXPECT_EQ(g.node(weighted.weight.node).op->name, "Sum");
  EXPECT_EQ(kind(size(w)), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(cast(size(x), DType::kFloat32)), PlacementKind::kPartialSum);
  // Divided by the number of samples: a weighted mean, whose weight is that number.
  EXPECT_EQ(kind(reduce_sum(errors) / cast(size(w), DType::kFloat32)), PlacementKind::kPartialWeighted);
}

TEST_F(BatchPlacementTest, TermsThatDoNotSeeTheBatchCountOnceInASum) {
  const Value penalty = l2_loss(fixed);
  EXPECT_EQ(kind(reduce_mean(square(x)) + penalty), PlacementKind::kPartialMean);
  const BatchPlacement sum = placement(reduce_sum(square(x)) + penalty);
  EXPECT_EQ(sum.kind, PlacementKind::kPartialSum);
  ASSERT_EQ(sum.once.size(), 1u);
  EXPECT_EQ(sum.once[0], penalty.endpoint());
  EXPECT_EQ(kind(reduce_sum(square(x)) + reduce_mean(w)), PlacementKind::kUnknown);
  EXPECT_EQ(kind((reduce_sum(square(x)) + penalty) * 2.0), PlacementKind::kUnknown);
}

TEST_F(BatchPlacementTest, TermsOfDifferentKindsAreToldApart) {
  const Value errors = reduce_sum(square(x), 1);
  const Value weighted = reduce_sum(errors * w) / reduce_sum(w), mean = reduce_mean(errors), sum = reduce_sum(w);
  const Value halved = mean * 0.5f, loss = weighted + halved - sum + l2_loss(fixed);
  const Value rooted = loss + sqrt(mean);
  EXPECT_EQ(kind(loss), PlacementKind::kUnknown);
  const auto axes = BatchAxes::find(g, {x.node(), w.node()});
  ASSERT_TRUE(axes.ok());
  const std::vector<Term> terms = terms_of(g, *axes, loss.endpoint());
  ASSERT_EQ(terms.size(), 3u);
  EXPECT_EQ(terms[0].value, weighted.endpoint());
  EXPECT_EQ(terms[1].value, mean.endpoint());
  EXPECT_EQ(terms[1].taker, halved.node());
  EXPECT_EQ(terms[1].input, 0);
  EXPECT_EQ(terms[2].value, sum.endpoint());
  EXPECT_TRUE(terms_of(g, *axes, rooted.endpoint()).empty());
}

TEST_F(BatchPlacementTest, OfWhatIsChosen) {
  const Value sum = reduce_sum(w), known = greater(reduce_sum(fixed), 0.f), theirs = greater(sum, 0.f);
  const auto chosen = [&](Value by, Value other) { return g.add("Select", {by, sum, other}); };
  EXPECT_EQ(kind(chosen(known, sum * 2.0f)), PlacementKind::kPartialSum);
  EXPECT_EQ(kind(chosen(known, reduce_mean(w))), PlacementKind::kUnknown);
  EXPECT_EQ(kind(chosen(known, l2_loss(fixed))), PlacementKind::kUnknown);
  EXPECT_EQ(kind(chosen(theirs, sum * 2.0f)), PlacementKind::kUnknown) << "a shard may go the other way";
}

TEST_F(BatchPlacementTest, WhatIsComputedFromGlobalValuesIsTheSameForAll) {
  const Value mean = reduce_mean(square(x)), root = sqrt(mean) + 1.0f, product = root * reduce_sum(w);
  const auto axes = BatchAxes::find(g, {x.node(), w.node()});
  ASSERT_TRUE(axes.ok());
  const std::vector<Endpoint> global = {mean.endpoint()};
  EXPECT_EQ(batch_placement_of(g, *axes, root.endpoint()).kind, PlacementKind::kUnknown);
  EXPECT_EQ(batch_placement_of(g, *axes, root.endpoint(), global).kind, PlacementKind::kReplicate);
  EXPECT_EQ(batch_placement_of(g, *axes, product.endpoint(), global).kind, PlacementKind::kPartialSum);
}

TEST_F(BatchPlacementTest, ValuesPerSampleKnowTheirAxis) {
  EXPECT_EQ(placement(x * 2.0).axis, 0);
  const BatchPlacement columns =
      placement(matmul(constant(g, Tensor::zeros(DType::kFloat32, {3, 4})), x, {.transpose_b = true}));
  EXPECT_EQ(columns.kind, PlacementKind::kShard);
  EXPECT_EQ(columns.axis, 1);
}

TEST_F(BatchPlacementTest, SumsAreTakenBeforeWhatIsNotLinear) {
  const Value gradient = reduce_sum(x, 0), other = reduce_sum(square(x), 0);
  const auto axes = [&] { return *BatchAxes::find(g, {x.node(), w.node()}); };
  const auto sums = [&](Value v) { return find_partial_sums(g, axes(), v.endpoint()).sums; };
  EXPECT_EQ(sums(gradient), std::vector<Endpoint>{gradient.endpoint()});
  const Value scaled = (gradient + other) * 0.5;
  EXPECT_EQ(sums(scaled), std::vector<Endpoint>{scaled.endpoint()});
  const auto place = [&](std::int32_t i) { return constant(g, Tensor::vector<std::int32_t>({i})); };
  const Value in_place = g.add("StridedSliceGrad", {place(9), place(2), place(6), place(1), gradient});
  EXPECT_EQ(sums(in_place), std::vector<Endpoint>{in_place.endpoint()});
  const Value by_sign = g.add("Select", {greater(gradient, 0.f), gradient, other});
  EXPECT_EQ(sums(by_sign), (std::vector<Endpoint>{gradient.endpoint(), other.endpoint()}));
  // The norm needs global gradients, and so does what is divided by it.
  const Value clipped = gradient / sqrt(l2_loss(gradient));
  EXPECT_EQ(sums(clipped), std::vector<Endpoint>{gradient.endpoint()});
  EXPECT_TRUE(sums(x).empty());
  EXPECT_TRUE(sums(fixed).empty());
  // Weight decay is no part of a sum that the shards add up.
  const Value with_decay = gradient + fixed;
  EXPECT_EQ(find_partial_sums(g, axes(), with_decay.endpoint(), {.sums_only = true}).sums,
            std::vector<Endpoint>{gradient.endpoint()});
  EXPECT_EQ(sums(with_decay), std::vector<Endpoint>{with_decay.endpoint()});
}

TEST(BatchAxes, PlaceholdersOfUnknownFirstSizeBringTheBatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}), rate = placeholder(g, DType::kFloat32, {});
  const Value unused = placeholder(g, DType::kFloat32, {-1});
  const Value y = x * rate;
  EXPECT_EQ(batch_placeholders(g, {y.node()}), std::vector<NodeId>{x.node()});
  EXPECT_EQ(batch_placeholders(g, {y.node(), unused.node()}).size(), 2u);
}

}  // namespace
}  // namespace argosy
