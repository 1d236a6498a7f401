// Updates that take rows of a batch, as embeddings do: the same variables on any number of devices.
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session.h"
#include "argosy/strategy/data_parallel.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

constexpr std::int64_t kWords = 12, kWidth = 5;

enum class Rule {
  kScatter,      // every row for itself
  kEqualsAdded,  // Adagrad, which needs the sum of equal words' rows
  kClipped,      // rows scaled by the norm of all rows
  kThroughSlot,  // the table follows what the rows have made of its slot, as in Adam
};

// Words looked up, one gradient row a word, an update of those rows alone: as tf.gradients and tf.train make it.
struct Embedding {
  Graph graph;
  VariableNode table, slot, seen;
  Value words, target, loss, train, init;

  Embedding(Rule rule, bool mean) {
    table = variable(graph, random_tensor(DType::kFloat64, {kWords, kWidth}, 7), "table");
    slot = variable(graph, random_tensor(DType::kFloat64, {kWords, kWidth}, 9, 0.1, 0.2), "slot");
    seen = variable(graph, Tensor::zeros(DType::kFloat64, {kWords}), "seen");
    words = placeholder(graph, DType::kInt32, {-1}, "words");
    target = placeholder(graph, DType::kFloat64, {-1, 2}, "target");
    const Value rows = gather(table.read, words);
    const Value errors = square(matmul(rows, constant(graph, random_tensor(DType::kFloat64, {kWidth, 2}, 8))) - target);
    loss = mean ? reduce_mean(errors) : reduce_sum(errors);
    Value gradient = gradients(graph, {loss}, {rows})[0];
    Value at = words;
    if (rule == Rule::kEqualsAdded) {
      at = graph.add("Unique", {words});
      gradient = graph.add("UnsortedSegmentSum", {gradient, at.output(1), size(at)});
    }
    if (rule == Rule::kClipped) gradient = gradient * 0.3 / sqrt(l2_loss(gradient));
    const Value rate = constant(graph, 0.2);
    Value update;
    if (rule == Rule::kEqualsAdded) {
      update = graph.add("SparseApplyAdagrad", {table.ref, slot.ref, rate, gradient, at});
    } else if (rule == Rule::kThroughSlot) {
      update = graph.add("AssignSub", {table.ref, graph.add("ScatterAdd", {slot.ref, at, gradient}) * rate});
    } else {
      update = graph.add("ScatterSub", {table.ref, at, gradient * rate});
    }
    const Value count = graph.add("ScatterAdd", {seen.ref, words, reduce_sum(target, 1)});
    train = group(graph, {update, count}, "train");
    init = group(graph, {table.initializer, slot.initializer, seen.initializer}, "init");
  }
};

struct Outcome {
  std::vector<Tensor> losses, variables;
  std::string summary;
};

Result<Outcome> run(Embedding& e, int devices, int shards = 0) {
  ARGOSY_RETURN_IF_ERROR(Status(e.graph.status()));
  DataParallelOptions options{.losses = {e.loss}, .train = {e.train}, .shards = shards};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(e.graph, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value loss, dp.fetch(e.loss));
  Session session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(e.init)}));
  Outcome outcome{.summary = dp.summary()};
  std::uint64_t seed = 1;
  for (const std::int64_t batch : {8, 5, 3, 1, 16}) {
    Tensor words = random_tensor(DType::kInt32, {batch}, ++seed, 0, kWords - 1);
    const Feeds feeds = {{dp.input(e.words), words},
                         {dp.input(e.target), random_tensor(DType::kFloat64, {batch, 2}, ++seed)}};
    ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run(feeds, {loss}, {dp.target(e.train)}));
    outcome.losses.push_back(out[0]);
  }
  ARGOSY_ASSIGN_OR_RETURN(outcome.variables,
                          session.run({dp.input(e.table.read), dp.input(e.slot.read), dp.input(e.seen.read)}));
  return outcome;
}

TEST(DataParallelRows, AreJoinedInTheOrderOfTheBatch) {
  for (const Rule rule : {Rule::kScatter, Rule::kEqualsAdded, Rule::kClipped, Rule::kThroughSlot}) {
    for (const bool mean : {true, false}) {
      Embedding e(rule, mean);
      const auto alone = run(e, 1);
      ASSERT_TRUE(alone.ok()) << alone.status().to_string();
      EXPECT_NE(difference(alone->variables[0], random_tensor(DType::kFloat64, {kWords, kWidth}, 7), 0.01), "");
      for (const int devices : {2, 3, 4}) {
        const auto many = run(e, devices);
        ASSERT_TRUE(many.ok()) << many.status().to_string();
        const std::string what = str_cat("rule ", static_cast<int>(rule), ", ", devices, " devices, ", many->summary);
        EXPECT_NE(many->summary.find("joined"), std::string::npos) << what;
        for (std::size_t i = 0; i < alone->losses.size(); ++i) {
          EXPECT_EQ(difference(many->losses[i], alone->losses[i], 1e-12), "") << what << ", step " << i;
        }
        for (std::size_t i = 0; i < alone->variables.size(); ++i) {
          EXPECT_EQ(difference(many->variables[i], alone->variables[i], 1e-12), "") << what << ", variable " << i;
        }
      }
    }
  }
}

TEST(DataParallelRows, OfLogicalShardsAreThoseOfOneDevice) {
  Embedding e(Rule::kEqualsAdded, true);
  const auto alone = run(e, 1, 8), two = run(e, 2, 8);
  ASSERT_TRUE(alone.ok() && two.ok()) << two.status().to_string();
  for (std::size_t i = 0; i < alone->variables.size(); ++i) {
    EXPECT_EQ(difference(two->variables[i], alone->variables[i], 0), "") << i;
  }
}

TEST(DataParallelFetch, WhatIsNoReductionIsComputedFromTheWholeBatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {-1, 3}, "x");
  const Value root = sqrt(reduce_mean(square(x)));
  const Value most = reduce_max(x);
  const Value summary = g.add("ScalarSummary", {constant(g, Tensor::of<std::string>({}, {"root"})), root});
  const Value distinct = g.add("Unique", {cast(reshape(x, {-1}), DType::kInt32)});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const Tensor fed = random_tensor(DType::kFloat64, {7, 3}, 3, -4, 4);
  Session alone(g, {.devices = {.devices = "cpu:0"}});
  const auto expected = alone.run({{x, fed}}, {root, most, summary, distinct, distinct.output(1)});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  std::vector<Value> fetches;
  for (const Value v : {root, most, summary, distinct, distinct.output(1)}) {
    const auto whole = dp->fetch(v);
    ASSERT_TRUE(whole.ok()) << whole.status().to_string();
    fetches.push_back(*whole);
  }
  Session many(dp->graph(), {.devices = {.devices = "3", .emulate = "3"}});
  const auto got = many.run({{dp->input(x), fed}}, fetches);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  for (std::size_t i = 0; i < fetches.size(); ++i) EXPECT_EQ(difference((*got)[i], (*expected)[i], 1e-12), "") << i;
}

TEST(DataParallelRows, SamplesBesideSamplesAreRefused) {
  Graph g;
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 2}), "w");
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value y = matmul(x, w.read);
  const Value loss = reduce_mean(square(matmul(y, y, {.transpose_b = true})));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  const Value train = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1f), slope});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto made =
      DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {train}});
  EXPECT_EQ(made.status().id(), "ARG-DP-007") << made.status().to_string();
}

TEST(DataParallelState, OfQueuesAndTablesIsNotCopied) {
  Graph g;
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4}), "w");
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value queue = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat32}}});
  const Value scale =
      g.add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat32}}}, "dequeue");
  const Value loss = reduce_sum(x * w.read * reshape(scale, {1}));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  const Value train = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1f), slope});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto made =
      DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {train}});
  EXPECT_EQ(made.status().id(), "ARG-DP-008") << made.status().to_string();
  EXPECT_NE(made.status().to_string().find("FIFOQueue"), std::string::npos) << made.status().to_string();
}

}  // namespace
}  // namespace argosy
