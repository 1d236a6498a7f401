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

  Combination combination(Value v) {
    EXPECT_TRUE(v.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node(), w.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    return combination_of(g, *axes, v.endpoint());
  }
  Combine how(Value v) { return combination(v).how; }
};

using Combinations = Batch;

TEST_F(Combinations, OfLosses) {
  const Value errors = reduce_sum(square(x), 1);
  EXPECT_EQ(how(reduce_mean(errors)), Combine::kMean);
  EXPECT_EQ(how(reduce_sum(errors)), Combine::kSum);
  EXPECT_EQ(how(reduce_mean(square(x))), Combine::kMean);
  EXPECT_EQ(how(reduce_mean(reduce_sum(square(x), 0))), Combine::kSum);
  EXPECT_EQ(how(l2_loss(x)), Combine::kSum);
  EXPECT_EQ(how(-reduce_mean(errors) * 0.5), Combine::kMean);
  EXPECT_EQ(how(reduce_sum(errors) / 784.0), Combine::kSum);
  EXPECT_EQ(how(reshape(reduce_mean(errors), std::vector<std::int64_t>{1})), Combine::kMean);
  EXPECT_EQ(how(check_numerics(reduce_mean(errors), "the loss")), Combine::kMean);
  EXPECT_EQ(how(l2_loss(fixed)), Combine::kSame);
  EXPECT_EQ(how(sqrt(reduce_mean(errors))), Combine::kUnknown);
  EXPECT_EQ(how(reduce_max(errors)), Combine::kUnknown);
  EXPECT_EQ(how(matmul(x, x, {.transpose_a = true})), Combine::kSum);
}

TEST_F(Combinations, OfWeightedMeansAndCounts) {
  const Value errors = reduce_sum(square(x), 1);
  const Combination weighted = combination(reduce_sum(errors * w) / reduce_sum(w));
  EXPECT_EQ(weighted.how, Combine::kWeighted);
  EXPECT_EQ(g.node(weighted.weight.node).op->name, "Sum");
  EXPECT_EQ(how(size(w)), Combine::kSum);
  EXPECT_EQ(how(cast(size(x), DType::kFloat32)), Combine::kSum);
  // Divided by the number of samples: a weighted mean, whose weight is that number.
  EXPECT_EQ(how(reduce_sum(errors) / cast(size(w), DType::kFloat32)), Combine::kWeighted);
}

TEST_F(Combinations, TermsThatDoNotSeeTheBatchCountOnceInASum) {
  const Value penalty = l2_loss(fixed);
  EXPECT_EQ(how(reduce_mean(square(x)) + penalty), Combine::kMean);
  const Combination sum = combination(reduce_sum(square(x)) + penalty);
  EXPECT_EQ(sum.how, Combine::kSum);
  ASSERT_EQ(sum.once.size(), 1u);
  EXPECT_EQ(sum.once[0], penalty.endpoint());
  EXPECT_EQ(how(reduce_sum(square(x)) + reduce_mean(w)), Combine::kUnknown);
  EXPECT_EQ(how((reduce_sum(square(x)) + penalty) * 2.0), Combine::kUnknown);
}

TEST_F(Combinations, TermsOfDifferentKindsAreToldApart) {
  const Value errors = reduce_sum(square(x), 1);
  const Value weighted = reduce_sum(errors * w) / reduce_sum(w), mean = reduce_mean(errors), sum = reduce_sum(w);
  const Value halved = mean * 0.5f, loss = weighted + halved - sum + l2_loss(fixed);
  const Value rooted = loss + sqrt(mean);
  EXPECT_EQ(how(loss), Combine::kUnknown);
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

TEST_F(Combinations, OfWhatIsChosen) {
  const Value sum = reduce_sum(w), known = greater(reduce_sum(fixed), 0.f), theirs = greater(sum, 0.f);
  const auto chosen = [&](Value by, Value other) { return g.add("Select", {by, sum, other}); };
  EXPECT_EQ(how(chosen(known, sum * 2.0f)), Combine::kSum);
  EXPECT_EQ(how(chosen(known, reduce_mean(w))), Combine::kUnknown);
  EXPECT_EQ(how(chosen(known, l2_loss(fixed))), Combine::kUnknown);
  EXPECT_EQ(how(chosen(theirs, sum * 2.0f)), Combine::kUnknown) << "a share may go the other way";
}

TEST_F(Combinations, WhatIsComputedFromWholeValuesIsTheSameForAll) {
  const Value mean = reduce_mean(square(x)), root = sqrt(mean) + 1.0f, product = root * reduce_sum(w);
  const auto axes = BatchAxes::find(g, {x.node(), w.node()});
  ASSERT_TRUE(axes.ok());
  const std::vector<Endpoint> whole = {mean.endpoint()};
  EXPECT_EQ(combination_of(g, *axes, root.endpoint()).how, Combine::kUnknown);
  EXPECT_EQ(combination_of(g, *axes, root.endpoint(), whole).how, Combine::kSame);
  EXPECT_EQ(combination_of(g, *axes, product.endpoint(), whole).how, Combine::kSum);
}

TEST_F(Combinations, ValuesPerSampleKnowTheirAxis) {
  EXPECT_EQ(combination(x * 2.0).axis, 0);
  const Combination columns =
      combination(matmul(constant(g, Tensor::zeros(DType::kFloat32, {3, 4})), x, {.transpose_b = true}));
  EXPECT_EQ(columns.how, Combine::kConcat);
  EXPECT_EQ(columns.axis, 1);
}

TEST_F(Combinations, SumsAreTakenBeforeWhatIsNotLinear) {
  const Value gradient = reduce_sum(x, 0), other = reduce_sum(square(x), 0);
  const auto axes = [&] { return *BatchAxes::find(g, {x.node(), w.node()}); };
  const auto sums = [&](Value v) { return find_frontier(g, axes(), v.endpoint()).sums; };
  EXPECT_EQ(sums(gradient), std::vector<Endpoint>{gradient.endpoint()});
  const Value scaled = (gradient + other) * 0.5;
  EXPECT_EQ(sums(scaled), std::vector<Endpoint>{scaled.endpoint()});
  const auto place = [&](std::int32_t i) { return constant(g, Tensor::vector<std::int32_t>({i})); };
  const Value in_place = g.add("StridedSliceGrad", {place(9), place(2), place(6), place(1), gradient});
  EXPECT_EQ(sums(in_place), std::vector<Endpoint>{in_place.endpoint()});
  const Value by_sign = g.add("Select", {greater(gradient, 0.f), gradient, other});
  EXPECT_EQ(sums(by_sign), (std::vector<Endpoint>{gradient.endpoint(), other.endpoint()}));
  // The norm needs whole gradients, and so does what is divided by it.
  const Value clipped = gradient / sqrt(l2_loss(gradient));
  EXPECT_EQ(sums(clipped), std::vector<Endpoint>{gradient.endpoint()});
  EXPECT_TRUE(sums(x).empty());
  EXPECT_TRUE(sums(fixed).empty());
  // Weight decay is no part of a sum that each shard brings its share of.
  const Value with_decay = gradient + fixed;
  EXPECT_EQ(find_frontier(g, axes(), with_decay.endpoint(), {.sums_only = true}).sums,
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
