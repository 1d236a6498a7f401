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
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/embedding.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using embedding::Embedding;
using embedding::kWidth;
using embedding::kWords;
using embedding::Rule;
using embedding::run;

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

TEST(DataParallelFetch, WhatIsNoReductionIsComputedFromTheGlobalBatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat64, {-1, 3}, "x");
  const Value root = sqrt(reduce_mean(square(x)));
  const Value most = reduce_max(x);
  const Value summary = g.add("ScalarSummary", {constant(g, Tensor::of<std::string>({}, {"root"})), root});
  const Value distinct = g.add("Unique", {cast(reshape(x, {-1}), DType::kInt32)});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const Tensor fed = random_tensor(DType::kFloat64, {7, 3}, 3, -4, 4);
  TestSession alone(g, {.devices = {.devices = "cpu:0"}});
  const auto expected = alone.run({{x, fed}}, {root, most, summary, distinct, distinct.output(1)});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  std::vector<Value> fetches;
  for (const Value v : {root, most, summary, distinct, distinct.output(1)}) {
    const auto global = dp->fetch(v);
    ASSERT_TRUE(global.ok()) << global.status().to_string();
    fetches.push_back(*global);
  }
  TestSession many(dp->graph(), {.devices = {.devices = "3", .emulate = "3"}});
  const auto got = many.run({{dp->input(x), fed}}, fetches);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  for (std::size_t i = 0; i < fetches.size(); ++i) EXPECT_EQ(difference((*got)[i], (*expected)[i], 1e-12), "") << i;
}

TEST(DataParallelRows, PairsOfSamples) {
  const auto train = [](int devices) -> Result<std::vector<Tensor>> {
    Graph g;
    const VariableNode w = variable(g, random_tensor(DType::kFloat64, {4, 2}), "w");
    const Value x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
    const Value y = matmul(x, w.read);
    const Value loss = reduce_mean(square(matmul(y, y, {.transpose_b = true})));
    const Value slope = gradients(g, {loss}, {w.ref})[0];
    const Value train = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1), slope});
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
    DataParallelOptions options{.losses = {loss}, .train = {train}};
    for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
    ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(g, options));
    TestSession session(dp.graph(), {.devices = {.devices = str_cat(devices), .emulate = str_cat(devices)}});
    ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(w.initializer)}));
    const Feeds feeds = {{dp.input(x), random_tensor(DType::kFloat64, {7, 4}, 5)}};
    ARGOSY_RETURN_IF_ERROR(session.run(feeds, {}, {dp.target(train)}).status());
    return session.run({dp.input(w.read)});
  };
  const auto alone = train(1), two = train(2), three = train(3);
  ASSERT_TRUE(alone.ok() && two.ok() && three.ok()) << two.status().to_string() << three.status().to_string();
  EXPECT_EQ(difference((*two)[0], (*alone)[0], 1e-12), "");
  EXPECT_EQ(difference((*three)[0], (*alone)[0], 1e-12), "");
}

}  // namespace
}  // namespace argosy
