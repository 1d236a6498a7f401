#include "argosy/strategy/sharding/cross_example_stats.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"

namespace argosy {
namespace {

struct CrossExampleStats : testing::Test {
  Graph g;
  Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {4, 4}), "w");
  Value h = matmul(x, w.read);

  // What is reduced for a loss that is the mean of these rows' squares.
  std::vector<Endpoint> stats_of(Value rows) {
    const Value loss = reduce_mean(square(rows));
    EXPECT_TRUE(loss.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    std::vector<CollectivePoint> collectives;
    const Status status = add_untrained_stats(g, *axes, {loss.node()}, collectives);
    EXPECT_TRUE(status.ok()) << status.to_string();
    std::vector<Endpoint> found;
    for (const CollectivePoint& c : collectives) found.push_back(c.value);
    return found;
  }
  // What else is reduced, trained through or not.
  std::vector<Endpoint> trained_stats_of(Value rows) {
    const Value loss = reduce_mean(square(rows));
    const Value slope = gradients(g, {loss}, {w.ref})[0];
    EXPECT_TRUE(slope.valid()) << g.status().to_string();
    const auto axes = BatchAxes::find(g, {x.node()});
    EXPECT_TRUE(axes.ok()) << axes.status().to_string();
    const auto collectives = find_trained_stats(g, *axes, {loss.node()}, {});
    EXPECT_TRUE(collectives.ok()) << collectives.status().to_string();
    std::vector<Endpoint> found;
    for (const CollectivePoint& c : *collectives) found.push_back(c.value);
    return found;
  }
  // tf.nn.moments.
  std::pair<Value, Value> moments(Value of) {
    const Value mean = reduce_mean(of, {0}, true), about = g.add("StopGradient", {mean});
    return {mean, reduce_mean(g.add("SquaredDifference", {of, about}), {0}, true)};
  }
};

TEST_F(CrossExampleStats, MeansAndDeviationsOfWhatIsFed) {
  const Value mean = reduce_mean(x, {0}), distance = x - mean, variance = reduce_mean(square(distance), {0});
  EXPECT_EQ(stats_of(h * distance / sqrt(variance)), (std::vector<Endpoint>{mean.endpoint(), variance.endpoint()}));
  const auto [m, v] = moments(x);
  EXPECT_EQ(stats_of(h * (x - m) / sqrt(v)), (std::vector<Endpoint>{m.endpoint(), v.endpoint()}));
}

TEST_F(CrossExampleStats, AndOfWhatIsTrainedBehindAStop) {
  const Value mean = reduce_mean(g.add("StopGradient", {h}), {0});
  EXPECT_EQ(stats_of(h - mean), std::vector<Endpoint>{mean.endpoint()});
}

TEST_F(CrossExampleStats, NotOfWhatIsTrainedThrough) {
  EXPECT_TRUE(stats_of(h - reduce_mean(h, {0})).empty());
  const auto [m, v] = moments(h);
  EXPECT_TRUE(stats_of((h - m) * rsqrt(v + 1e-3f)).empty());
  EXPECT_TRUE(stats_of(h / reduce_max(x)).empty()) << "neither a sum nor a mean";
}

TEST_F(CrossExampleStats, WhatIsTrainedThroughIsReducedWhereItsMeansAre) {
  const Value mean = reduce_mean(h, {0});
  EXPECT_EQ(trained_stats_of(h - mean * 2.0f), std::vector<Endpoint>{mean.endpoint()}) << "not the product";
  const Value sum = reduce_sum(square(h));
  EXPECT_EQ(trained_stats_of(h * rsqrt(sum)), std::vector<Endpoint>{sum.endpoint()});
  EXPECT_TRUE(trained_stats_of(h / reduce_max(h)).empty()) << "neither a sum nor a mean";
}

TEST_F(CrossExampleStats, StatisticsAreOnlyAmongOthers) {
  const auto [m, v] = moments(h);
  EXPECT_TRUE(trained_stats_of((h - m) * rsqrt(v + 1e-3f)).empty());
  const Value mean = reduce_mean(h);
  EXPECT_EQ(trained_stats_of((h - m) * rsqrt(v + 1e-3f) - mean).size(), 3);
}

}  // namespace
}  // namespace argosy
