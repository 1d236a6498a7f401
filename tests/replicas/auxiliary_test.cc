// What a replicated step does outside training: moving averages, queues, tables. The same on any number of devices.
#include <gtest/gtest.h>

#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/ops/table/table.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

constexpr int kSteps = 3;
constexpr std::int64_t kBatch = 7, kWidth = 4;

// A loss of rows that are fed, w * x, and what each test adds to its step.
struct AuxiliaryStep {
  Graph g;
  VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth}, 3), "w");
  Value x = placeholder(g, DType::kFloat64, {-1, kWidth}, "x");
  Value errors = reduce_sum(square(x * w.read), 1);
  Value loss = reduce_mean(errors);
  std::vector<Value> before = {w.initializer};                          // the first step
  std::vector<Value> auxiliary = {};                                    // in every step
  std::vector<Value> after = {};                                        // read after the last
  std::string summary = {};                                             // after run()
  std::function<Value(Value)> gradient = [](Value g) { return g; };     // what the update takes
  std::function<Value(Value)> end = [](Value train) { return train; };  // what a step runs for it

  // Adds the update of `w`. What `after` gave, or why not.
  Result<std::vector<Tensor>> run(int devices) {
    const Value slope = gradient(gradients(g, {loss}, {w.ref})[0]);
    const Value train = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.01), slope});
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
    DataParallelOptions options{.losses = {loss}, .train = {end(train)}};
    options.train.insert(options.train.end(), auxiliary.begin(), auxiliary.end());
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
    summary = dp.summary();
    std::vector<Value> reads, targets;
    for (const Value v : after) reads.push_back(dp.input(v));
    for (const Value v : options.train) targets.push_back(dp.target(v));
    TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    for (const Value v : before) ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(v)}));
    for (int i = 0; i < kSteps; ++i) {
      const Feeds feeds = {{dp.input(x), random_tensor(DType::kFloat64, {kBatch, kWidth}, 20 + i, 0.1, 1)}};
      ARGOSY_RETURN_IF_ERROR(session.run(feeds, {}, targets).status());
    }
    return session.run(reads);
  }
};

// `make` fills in what is auxiliary.
template <typename Make>
void expect_same_on_any_number(const Make& make) {
  AuxiliaryStep alone;
  make(alone);
  const auto expected = alone.run(1);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const int devices : {2, 3}) {
    AuxiliaryStep many;
    make(many);
    const auto got = many.run(devices);
    ASSERT_TRUE(got.ok()) << devices << ": " << got.status().to_string();
    for (std::size_t i = 0; i < expected->size(); ++i) {
      EXPECT_EQ(difference((*got)[i], (*expected)[i], 1e-12), "") << devices << " devices, value " << i;
    }
  }
}

// average -= (average - value) * rate, as TensorFlow's ExponentialMovingAverage does.
void follow(AuxiliaryStep& b, Value value) {
  const VariableNode average = variable(b.g, Tensor::zeros(DType::kFloat64, {}), "average");
  const Value change = (average.read - value) * constant(b.g, 0.25);
  b.before.push_back(average.initializer);
  b.auxiliary.push_back(b.g.add("AssignSub", {average.ref, change}));
  b.after.push_back(average.read);
}

TEST(DataParallelAuxiliary, MovingAveragesOfSumsMeansAndBoth) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value sum = reduce_sum(b.errors), decay = l2_loss(b.w.read) * 0.1;
    const Value weights = reduce_sum(b.x, 1), weighted = reduce_sum(b.errors * weights) / reduce_sum(weights);
    for (const Value v : {b.loss, sum, weighted, b.loss + decay, sum + decay, sum + b.loss * 3.0 + decay}) follow(b, v);
  });
}

// Largest, deviation, product, a mean of what differs from another mean: computed from the global batch's rows.
TEST(DataParallelAuxiliary, MovingAveragesOfWhatIsNeitherSumNorMean) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value distance = b.errors - reduce_mean(b.errors), deviation = sqrt(reduce_mean(square(distance)));
    for (const Value v : {reduce_max(b.errors), deviation, reduce_prod(b.errors) * 0.001, reduce_max(distance)}) {
      follow(b, v);
    }
  });
}

TEST(DataParallelAuxiliary, VariablesKeepTheLatestRows) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const VariableNode latest = variable(b.g, Tensor::zeros(DType::kFloat64, {10, kWidth}), "latest");
    const Value rows = slice(concat({b.x * b.w.read, latest.read}, 0), {0, 0}, {10, kWidth});
    b.before.push_back(latest.initializer);
    b.auxiliary.push_back(b.g.add("Assign", {latest.ref, rows}));
    b.after = {latest.read, b.w.read};
  });
}

// Advantages, say: less their mean and over their deviation, which nothing is trained through.
TEST(DataParallelAuxiliary, StatsOfTheBatchThatAreNotTrained) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value given = reduce_sum(b.x, 1), distance = given - reduce_mean(given);
    const Value stopped = b.g.add("StopGradient", {b.errors});
    b.loss = reduce_mean(b.errors * distance / sqrt(reduce_mean(square(distance)))) +
             reduce_mean(b.errors / (reduce_mean(stopped) + 1.0));
    b.after = {b.w.read};
  });
}

// Such a value can wait for nothing: each device's is run for itself.
TEST(DataParallelAuxiliary, AStepThatEndsWithAConditionalTrainsEveryMirror) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    b.end = [&b](Value train) {
      const auto [off, on] = switch_value(with_dependencies({train}, constant(b.g, 1.0)), constant(b.g, true));
      return merge({off, on});
    };
    b.after = {b.w.read};
  });
}

TEST(DataParallelAuxiliary, AndOfALossThatIsAWeightedMean) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value weights = reduce_sum(b.x, 1);
    b.loss = reduce_sum(b.errors * weights) / reduce_sum(weights);
    follow(b, b.loss);
    follow(b, b.loss + l2_loss(b.w.read));
  });
}

// Whatever the loss is, a sum or a mean: what all shards have is added to the gradient once.
TEST(DataParallelAuxiliary, WeightDecayAndMomentumByHand) {
  for (const bool mean : {true, false}) {
    expect_same_on_any_number([mean](AuxiliaryStep& b) {
      if (!mean) b.loss = reduce_sum(b.errors);
      const VariableNode momentum = variable(b.g, Tensor::zeros(DType::kFloat64, {kWidth}), "momentum");
      b.before.push_back(momentum.initializer);
      b.after = {b.w.read, momentum.read};
      b.gradient = [&b, momentum](Value g) {
        const Value next = momentum.read * 0.9 + (g + b.w.read * 0.1) * 0.2;
        b.auxiliary.push_back(b.g.add("Assign", {momentum.ref, next}));
        return next;
      };
    });
  }
}

// RMSProp written by hand takes the gradient twice, scaled and squared, and slots take it, too: it is summed once.
TEST(DataParallelAuxiliary, WhatIsComputedFromSumsIsNotSummedAgain) {
  for (const bool mean : {true, false}) {
    const auto by_hand = [mean](AuxiliaryStep& b) {
      if (!mean) b.loss = reduce_sum(b.errors);
      b.after = {b.w.read};
      b.gradient = [&b](Value g) {
        const auto slot = [&](const char* name) {
          const VariableNode made = variable(b.g, Tensor::zeros(DType::kFloat64, {kWidth}), name);
          b.before.push_back(made.initializer);
          b.after.push_back(made.read);
          return made;
        };
        const VariableNode squares = slot("squares"), momentum = slot("momentum");
        const Value mean_square = squares.read * 0.9 + square(g) * 0.1;
        const Value moved = momentum.read * 0.5 + g * 0.25;
        b.auxiliary.push_back(b.g.add("Assign", {squares.ref, mean_square}));
        b.auxiliary.push_back(b.g.add("Assign", {momentum.ref, moved}));
        return (g * 0.5 + moved) / (sqrt(mean_square) + 0.001);
      };
    };
    expect_same_on_any_number(by_hand);
    AuxiliaryStep two;
    by_hand(two);
    ASSERT_TRUE(two.run(2).ok());
    EXPECT_NE(two.summary.find("1 sum in 1 all-reduce"), std::string::npos) << two.summary;
  }
}

TEST(DataParallelAuxiliary, DecayInALossIsSummedWithItsGradient) {
  const auto decayed = [](AuxiliaryStep& b) {
    b.loss = b.loss + l2_loss(b.w.read) * 0.1;
    b.after = {b.w.read};
  };
  expect_same_on_any_number(decayed);
  AuxiliaryStep two;
  decayed(two);
  ASSERT_TRUE(two.run(2).ok());
  EXPECT_NE(two.summary.find("1 sum in 1 all-reduce"), std::string::npos) << two.summary;
}

TEST(DataParallelAuxiliary, QueuesGiveAndTakeOnce) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const QueueSpec numbers = {.dtypes = {DType::kFloat64}, .shapes = {PartialShape::scalar()}};
    const Value scales = fifo_queue(b.g, numbers, "scales"), losses = fifo_queue(b.g, numbers, "losses");
    const Value errors = fifo_queue(b.g, numbers, "errors");
    for (int i = 0; i < kSteps; ++i) b.before.push_back(enqueue(scales, {constant(b.g, 0.5 + i)}));
    b.loss = reduce_mean(b.errors) * reshape(dequeue(scales, numbers.dtypes)[0], std::vector<std::int64_t>());
    b.auxiliary = {enqueue(losses, {b.loss}), enqueue_many(errors, {b.errors})};
    const auto all = [&](Value queue, std::int64_t n) {
      return dequeue_many(queue, constant(b.g, static_cast<std::int32_t>(n)), numbers.dtypes)[0];
    };
    b.after = {queue_size(scales), b.w.read, all(losses, kSteps), all(errors, kSteps * kBatch)};
  });
}

TEST(DataParallelAuxiliary, ShardsLookIntoOneTable) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value table = hash_table(b.g, {.key = DType::kInt64, .value = DType::kInt64});
    b.before.push_back(initialize_table(table, constant(b.g, Tensor::vector<std::int64_t>({0, 1, 2})),
                                        constant(b.g, Tensor::vector<std::int64_t>({2, 0, 1}))));
    const Value keys = b.g.add("Cast", {reduce_sum(b.x, 1)}, {{"DstT", DType::kInt64}});
    const Value found = table_find(table, keys, constant(b.g, std::int64_t{3}));
    b.loss = reduce_mean(b.errors * gather(constant(b.g, Tensor::vector<double>({1, 10, 100, 1000})), found));
    b.after = {b.w.read, table_size(table)};
  });
}

// What an update gives is read by one device alone. The others update their mirrors all the same.
TEST(DataParallelAuxiliary, MirrorsAreUpdatedThoughOneDeviceReadsThem) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value queue = fifo_queue(b.g, {.dtypes = {DType::kFloat64}, .shapes = {PartialShape::scalar()}}, "counts");
    const VariableNode count = variable(b.g, Tensor::zeros(DType::kFloat64, {}), "count");
    b.before.push_back(count.initializer);
    const Value before = count.read + constant(b.g, 0.0);
    b.loss = reduce_mean(b.errors) * (before + constant(b.g, 1.0));
    const auto after = b.g.control_dependencies({before});
    const Value counted = b.g.add("AssignAdd", {count.ref, constant(b.g, 1.0)});
    b.auxiliary = {enqueue(queue, {counted + constant(b.g, 0.5)})};
    b.after = {b.w.read, count.read, dequeue_many(queue, constant(b.g, kSteps), {DType::kFloat64})[0]};
  });
}

// As many elements of a queue as there are examples: taken at once, and shared out.
TEST(DataParallelAuxiliary, AQueueGivesForAllExamplesAtOnce) {
  expect_same_on_any_number([](AuxiliaryStep& b) {
    const Value queue = fifo_queue(b.g, {.dtypes = {DType::kFloat64}, .shapes = {PartialShape::scalar()}});
    b.before.push_back(
        enqueue_many(queue, {constant(b.g, random_tensor(DType::kFloat64, {kSteps * kBatch}, 9, 0.5, 2))}));
    const Value rows = reshape(slice(shape(b.x), {0}, {1}), std::vector<std::int64_t>());
    b.loss = reduce_mean(b.errors * dequeue_many(queue, rows, {DType::kFloat64})[0]);
    b.after = {b.w.read, queue_size(queue)};
  });
}

// Heads of attention lie one after another along the batch's axis: a shard's numbers are a part of each.
TEST(DataParallelAuxiliary, StackedRowsDrawWhatOneDeviceDraws) {
  Graph g;
  const VariableNode w = variable(g, random_tensor(DType::kFloat64, {kWidth}, 3), "w");
  const Value x = placeholder(g, DType::kFloat64, {-1, kWidth}, "x");
  const Value rows = x * w.read, heads = concat({rows, rows * 2.0, rows * 3.0}, 0);
  const Value noise = g.add("RandomUniform", {shape(heads)}, {{"dtype", DType::kFloat64}, {"seed", 3}, {"seed2", 4}});
  const Value loss = reduce_mean(square(heads * noise));
  const Value step =
      g.add("ApplyGradientDescent", {w.ref, constant(g, 0.5), gradients(g, {loss}, {w.read})[0]}, {}, "step");
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const Tensor fed = random_tensor(DType::kFloat64, {kBatch, kWidth});
  TestSession one(g, {.devices = {.devices = "cpu:0"}});
  ASSERT_TRUE(one.run_targets({w.initializer}).ok());
  const auto expected = one.run({{x, fed}}, {loss});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  for (const int devices : {2, 3}) {
    DataParallelOptions options{.losses = {loss}, .train = {step}};
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    auto dp = DataParallel::make(g, options);
    ASSERT_TRUE(dp.ok()) << dp.status().to_string();
    const auto fetched = dp->fetch(loss);
    ASSERT_TRUE(fetched.ok()) << fetched.status().to_string();
    TestSession many(dp->graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    ASSERT_TRUE(many.run_targets({dp->target(w.initializer)}).ok());
    const auto got = many.run({{dp->input(x), fed}}, {*fetched});
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    EXPECT_EQ(difference((*got)[0], (*expected)[0], 1e-12), "") << devices;
  }
}

}  // namespace
}  // namespace argosy
