// A small network with a loss of each kind, and its training on any number of devices, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/model/layers.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/model/optimizers.h"
#include "tests/session/support/test_session.h"

namespace argosy::loss_kinds {

enum class Kind { kMean, kSum, kWeighted, kMeanWithDecay, kSumWithDecay, kSeveralTerms, kRoot };
inline constexpr Kind kKinds[] = {Kind::kMean,         Kind::kSum,          Kind::kWeighted, Kind::kMeanWithDecay,
                                  Kind::kSumWithDecay, Kind::kSeveralTerms, Kind::kRoot};

// A small network with a loss of each kind, trained for a few steps of given batch sizes.
struct LossTask {
  Graph graph;
  Value x, target, weight, loss, prediction;
  TrainStep step;
  std::vector<VariableNode> variables;
  Value initializer;

  LossTask(Kind kind, DType dtype, const MinimizeOptions& minimize = {}, const Optimizer& optimizer = adam(0.01)) {
    Layers net(graph, {.seed = 3, .dtype = dtype});
    x = net.input("x", dtype, {6});
    target = net.input("target", dtype, {3});
    weight = net.input("weight", dtype, {});
    const Value hidden = net.dense(x, 8, {.activation = [](Value v) { return tanh(v); }});
    prediction = net.dense(hidden, 3);
    const Value errors = reduce_sum(square(prediction - target), 1);
    const Value decay = l2_loss(net.trainable()[0].read) * 0.1;
    switch (kind) {
      case Kind::kMean: loss = reduce_mean(errors); break;
      case Kind::kSum: loss = reduce_sum(errors) * 0.1; break;
      case Kind::kWeighted: loss = reduce_sum(errors * weight) / reduce_sum(weight); break;
      case Kind::kMeanWithDecay: loss = reduce_mean(errors) + decay; break;
      case Kind::kSumWithDecay: loss = reduce_sum(errors) + decay; break;
      case Kind::kSeveralTerms:
        loss = reduce_sum(errors * weight) / reduce_sum(weight) + reduce_mean(errors) * 0.5 + decay;
        break;
      case Kind::kRoot: loss = sqrt(reduce_mean(errors)) + log(reduce_sum(weight * errors)) + decay; break;
    }
    step = optimizer.minimize(loss, net.trainable(), minimize);
    variables = net.variables();
    variables.insert(variables.end(), step.slots.begin(), step.slots.end());
    std::vector<Value> all;
    for (const VariableNode& v : variables) all.push_back(v.initializer);
    initializer = group(graph, all, "init");
  }
};

struct Outcome {
  std::vector<double> losses;
  std::vector<Tensor> variables;
};

inline double as_double(const Tensor& t) {
  return t.dtype() == DType::kFloat64 ? *t.data<double>() : static_cast<double>(*t.data<float>());
}

inline Result<Outcome> train(LossTask& task, const std::vector<std::int64_t>& batches, int devices, int shards = 0,
                             std::vector<double> weights = {}, int accumulate = 1) {
  ARGOSY_RETURN_IF_ERROR(Status(task.graph.status()));
  DataParallelOptions options{.weights = std::move(weights),
                              .losses = {task.loss},
                              .train = {task.step.run},
                              .shards = shards,
                              .accumulate = accumulate,
                              .first_bucket_bytes = 64,
                              .bucket_bytes = 256};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(task.graph, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value loss, dp.fetch(task.loss));
  TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(task.initializer)}));
  Outcome outcome;
  std::uint64_t seed = 1;
  for (const std::int64_t batch : batches) {
    const DType dtype = task.x.dtype();
    const Feeds feeds = {{dp.input(task.x), random_tensor(dtype, {batch, 6}, ++seed)},
                         {dp.input(task.target), random_tensor(dtype, {batch, 3}, ++seed)},
                         {dp.input(task.weight), random_tensor(dtype, {batch}, ++seed, 0.1, 1)}};
    ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run(feeds, {loss}, {dp.target(task.step.run)}));
    outcome.losses.push_back(as_double(out[0]));
  }
  std::vector<Value> reads;
  for (const VariableNode& v : task.variables) reads.push_back(dp.input(v.read));
  ARGOSY_ASSIGN_OR_RETURN(outcome.variables, session.run(reads));
  return outcome;
}

// Uneven, smaller than the number of devices, one.
inline const std::vector<std::int64_t> kBatches = {8, 10, 7, 3, 1, 16};

inline void expect_same(const Outcome& got, const Outcome& expected, double tolerance, const std::string& what) {
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], expected.losses[i], tolerance * std::max(1.0, std::abs(expected.losses[i])))
        << what << ", step " << i;
  }
  for (std::size_t i = 0; i < expected.variables.size(); ++i) {
    EXPECT_EQ(difference(got.variables[i], expected.variables[i], tolerance), "") << what << ", variable " << i;
  }
}

}  // namespace argosy::loss_kinds
