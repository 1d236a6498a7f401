#include "argosy/strategy/data_parallel/data_parallel.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(DataParallel, NeedsABatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, 3});
  const auto made = DataParallel::make(g, {.devices = {"/device:CPU:0"}, .losses = {x}});
  EXPECT_EQ(made.status().id(), "ARG-DP-001");
}

// Losses in which examples meet.
TEST(DataParallel, ExamplesThatMeetAreReplicatedByRules) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 3});
  const Value h = x * variable(g, Tensor::zeros(DType::kFloat32, {3}), "w").read;
  const Value centred = reduce_mean(square(h - reduce_mean(h, {0})));
  const Value pairs = reduce_mean(square(matmul(x, x, {.transpose_b = true})));
  for (const Value loss : {centred, pairs}) {
    const auto alone = DataParallel::make(g, {.devices = {"/device:GPU:0"}, .losses = {loss}});
    EXPECT_TRUE(alone.ok()) << alone.status().to_string();
    const auto sharded = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}});
    ASSERT_TRUE(sharded.ok()) << sharded.status().to_string();
    EXPECT_NE(sharded->summary().find("by sharding rules"), std::string::npos) << sharded->summary();
  }
}

// A number of the global batch is a sum over shards: nothing is gathered for it.
TEST(DataParallel, RowsAreComparedWithTheMeanOfAll) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 3});
  const Value h = x * variable(g, Tensor::zeros(DType::kFloat32, {3}), "w").read;
  const Value given = reduce_mean(square(h - reduce_mean(x, {0})));
  const auto sharded = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {given}});
  ASSERT_TRUE(sharded.ok()) << sharded.status().to_string();
  EXPECT_EQ(sharded->summary().find("by sharding rules"), std::string::npos) << sharded->summary();
}

TEST(DataParallel, WhatIsNoBatchAndHasNoSizeIsTold) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 3}), scales = placeholder(g, DType::kFloat32, {-1});
  const Value loss = reduce_mean(square(x * scales * variable(g, Tensor::zeros(DType::kFloat32, {3}), "w").read));
  const auto made = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}});
  EXPECT_EQ(made.status().id(), "ARG-DP-011") << made.status().to_string();
  EXPECT_NE(made.status().hint().find("[10], not [None]"), std::string::npos);
}

TEST(DataParallel, ForwardOnlyIsConcatenated) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2});
  const Value w = constant(g, Tensor::of<float>({2, 1}, {1, 10}));
  const Value y = matmul(x, w);
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto global = dp->fetch(y);
  ASSERT_TRUE(global.ok()) << global.status().to_string();
}

}  // namespace
}  // namespace argosy
