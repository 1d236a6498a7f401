// Losses that compute rows with numbers of the global batch which are trained through: on any number of devices they and
// their gradients are those of one.
#include <gtest/gtest.h>

#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

constexpr int kSteps = 3;
constexpr std::int64_t kWidth = 4;

using MakeLoss = std::function<Value(Value, Value)>;  // of the rows of a layer, and its weights

// Losses of some steps, and the layer's weights after them.
Result<std::vector<Tensor>> train(const MakeLoss& make_loss, int devices, std::int64_t batch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {-1, kWidth}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth, kWidth}, 3), "w");
  const Value loss = make_loss(tanh(matmul(x, w.read)), w.read);
  const Value update = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.3), gradients(g, {loss}, {w.ref})[0]});
  const Value train = group(g, {update});
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  DataParallelOptions options{.losses = {loss}, .train = {train}};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value global, dp.fetch(loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(w.initializer)}));
  std::vector<Tensor> out;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    const Feeds feeds = {{dp.input(x), random_tensor(DType::kFloat64, {batch, kWidth}, 20 + i)}};
    ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(feeds, {global}, {dp.target(train)}));
    out.push_back(got[0]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto weights, session.run({dp.input(w.read)}));
  out.push_back(weights[0]);
  return out;
}

void expect_same_on_any_number(const std::string& what, const MakeLoss& make_loss) {
  for (const std::int64_t batch : {7, 2}) {  // of three devices, one has nothing of the second
    const auto alone = train(make_loss, 1, batch);
    ASSERT_TRUE(alone.ok()) << what << ": " << alone.status().to_string();
    for (const int devices : {2, 3}) {
      const auto many = train(make_loss, devices, batch);
      ASSERT_TRUE(many.ok()) << what << ", " << devices << " devices: " << many.status().to_string();
      for (std::size_t i = 0; i < alone->size(); ++i) {
        EXPECT_EQ(difference((*many)[i], (*alone)[i], 1e-12), "")
            << what << ", " << devices << " devices, batch of " << batch << ", value " << i;
      }
    }
  }
}

Value distance_from_mean(Value h) { return h - reduce_mean(h, {0}); }

TEST(DataParallelCrossExample, RowsLessTheirMean) {
  expect_same_on_any_number("mean", [](Value h, Value) { return reduce_mean(tanh(distance_from_mean(h)) * h); });
  expect_same_on_any_number("sum", [](Value h, Value) { return reduce_sum(square(distance_from_mean(h) + 0.5)); });
  expect_same_on_any_number("mean by hand", [](Value h, Value) {
    const Value ones = h * 0.0 + 1.0;
    return reduce_mean(abs(h - reduce_sum(h, 0) / reduce_sum(ones, 0)));
  });
  expect_same_on_any_number("of each row", [](Value h, Value) { return reduce_mean(square(h - reduce_mean(h))); });
}

TEST(DataParallelCrossExample, RowsOverTheirDeviation) {
  expect_same_on_any_number("deviation", [](Value h, Value) {
    const Value distance = distance_from_mean(h);
    return reduce_mean(tanh(distance * rsqrt(reduce_mean(square(distance), {0}) + 0.1)) * h);
  });
  expect_same_on_any_number("norm", [](Value h, Value) { return reduce_mean(tanh(h / sqrt(reduce_sum(square(h))))); });
}

// The loss and the weights after a step over heads that lie one after the other along the batch, of an open length.
Result<std::vector<Tensor>> train_heads(int devices, std::int64_t batch, std::int64_t length) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {-1, -1, kWidth}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth}, 3), "w");
  const Value heads = concat(split(tanh(x * w.read), {kWidth / 2, kWidth / 2}, 2), 0);
  const Value loss = reduce_mean(square(heads - slice(heads, {0, 0, 0}, {1, -1, -1}) * 0.5));
  const Value update = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.3), gradients(g, {loss}, {w.ref})[0]});
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  DataParallelOptions options{.losses = {loss}, .train = {update}};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value global, dp.fetch(loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(w.initializer)}));
  const Feeds feeds = {{dp.input(x), random_tensor(DType::kFloat64, {batch, length, kWidth}, 20)}};
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> out, session.run(feeds, {global}, {dp.target(update)}));
  ARGOSY_ASSIGN_OR_RETURN(const auto weights, session.run({dp.input(w.read)}));
  out.push_back(weights[0]);
  return out;
}

TEST(DataParallelCrossExample, HeadsAlongTheBatchLessTheFirst) {
  for (const auto& [batch, length] : {std::pair<std::int64_t, std::int64_t>{7, 5}, {2, 3}, {6, 1}}) {
    const auto alone = train_heads(1, batch, length);
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    for (const int devices : {2, 3}) {
      const auto many = train_heads(devices, batch, length);
      ASSERT_TRUE(many.ok()) << devices << " devices: " << many.status().to_string();
      for (std::size_t i = 0; i < alone->size(); ++i) {
        EXPECT_EQ(difference((*many)[i], (*alone)[i], 1e-12), "")
            << devices << " devices, batch of " << batch << ", length " << length << ", value " << i;
      }
    }
  }
}

// What comes back to the mean is a sum over rows in the first term, and the loss's own seed in the second.
TEST(DataParallelCrossExample, AMeanThatIsATermAsWell) {
  expect_same_on_any_number("of its own", [](Value h, Value) {
    const Value mean = reduce_mean(h);
    return reduce_mean(sigmoid(h - mean)) - mean;
  });
  expect_same_on_any_number("beside one that rows do not meet", [](Value h, Value) {
    const Value mean = reduce_mean(h);
    return (reduce_mean(square(h)) + mean) + reduce_mean(sigmoid(h - mean));
  });
}

TEST(DataParallelCrossExample, WeightedMeansAndStatsOfStats) {
  expect_same_on_any_number("weighted", [](Value h, Value) {
    const Value w = sigmoid(h);
    return reduce_mean(abs(h - reduce_sum(w * h, 0) / reduce_sum(w, 0)));
  });
  // What comes back to the weights is made of the sum itself.
  expect_same_on_any_number("times what is trained", [](Value h, Value w) {
    return reduce_mean(tanh(h - reduce_sum(h, 0) * reduce_mean(w)) * h) + reduce_mean(h) * 0.1;
  });
  expect_same_on_any_number("product", [](Value h, Value) {
    const Value number = reduce_mean(h, {0}) * exp(reduce_mean(square(h), {0}));
    return reduce_mean(square(h - number)) + reduce_mean(tanh(h * number));
  });
}

// Batch normalisation beside them: its statistics are then the global batch's, too.
TEST(DataParallelCrossExample, StatisticsAmongThem) {
  expect_same_on_any_number("moments", [](Value h, Value) {
    Graph& g = h.graph();
    const Value mean = reduce_mean(h, {0}), stop = g.add("StopGradient", {mean});
    const Value variance = reduce_mean(g.add("SquaredDifference", {h, stop}), {0});
    return reduce_mean(square(sigmoid((h - mean) * rsqrt(variance + 0.1)) - h + reduce_mean(h)));
  });
}

// Moments that a loss compares, and that normalise nothing, are the global batch's: variance and style losses.
TEST(DataParallelCrossExample, MomentsThatNormaliseNothing) {
  const auto moments = [](Value h) {
    const Value mean = reduce_mean(h, {0}), stop = h.graph().add("StopGradient", {mean});
    return std::pair(mean, reduce_mean(h.graph().add("SquaredDifference", {h, stop}), {0}));
  };
  expect_same_on_any_number("variance", [&](Value h, Value) {
    const auto [mean, variance] = moments(h);
    return reduce_mean(square(1.0 - sqrt(variance + 1e-4))) + reduce_mean(square(h)) * 0.1;
  });
  expect_same_on_any_number("style", [&](Value h, Value) {
    const auto [mean, variance] = moments(h);
    return reduce_mean(square(mean - 0.5)) + reduce_mean(square(variance - 0.25)) + reduce_mean(square(h)) * 0.1;
  });
}

// The analysis refuses it. Rules know the largest of the largest.
TEST(DataParallelCrossExample, WhatIsNeitherSumNorMean) {
  expect_same_on_any_number("over the largest",
                            [](Value h, Value) { return reduce_mean(square(h / (2.0 + reduce_max(h)))); });
}

}  // namespace
}  // namespace argosy
