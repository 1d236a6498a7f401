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
#include "argosy/strategy/analysis/batch_axis.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

TEST(DataParallel, NeedsABatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, 3});
  const auto made = DataParallel::make(g, {.devices = {"/device:CPU:0"}, .losses = {x}});
  EXPECT_EQ(made.status().id(), "ARG-DP-001");
}

// The analysis refuses losses in which examples meet; sharding rules gather them.
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
  // Nothing is trained through this mean: it is the global batch's.
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

TEST(BatchAxes, TellRowsPerExample) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 6});
  const auto axes = BatchAxes::find(g, {x.node()});
  ASSERT_TRUE(axes.ok()) << axes.status().to_string();
  EXPECT_EQ(axes->rows_per_example(x.endpoint()), 1);
  const Value longer = reshape(x, {-1, 2}), shorter = reshape(x, {-1, 12}), across = transpose(x);
  const Value square = matmul(x, across), fixed = matmul(across, x);
  const auto more = BatchAxes::find(g, {x.node()});
  ASSERT_TRUE(more.ok()) << more.status().to_string();
  EXPECT_EQ(more->rows_per_example(longer.endpoint()), 3);
  EXPECT_EQ(more->rows_per_example(shorter.endpoint()), 0);  // half a row
  EXPECT_EQ(more->rows_per_example(across.endpoint()), 1);
  EXPECT_EQ(more->rows_per_example(square.endpoint()), 0);  // both axes are the batch
  EXPECT_EQ(more->rows_per_example(fixed.endpoint()), 0);
}

TEST(DataParallel, TakesGivenGradients) {
  Graph g;
  const VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {3}), "w");
  const Value x = placeholder(g, DType::kFloat32, {-1, 3});
  const Value loss = reduce_mean(square(x * w.read));
  const Value seed = g.add("OnesLike", {loss}, {}, "start");  // not a name of a seed
  const Value gradient = gradients(g, {loss}, {w.ref}, {.grad_ys = {seed}})[0];
  const Value update = assign_sub(w, gradient, "update");
  DataParallelOptions options{.devices = {"/device:GPU:0", "/device:GPU:1"}, .losses = {loss}, .train = {update}};
  auto inferred = DataParallel::make(g, options);
  ASSERT_TRUE(inferred.ok()) << inferred.status().to_string();
  EXPECT_EQ(inferred->summary(), "2 devices, loss: a mean over the batch, 1 sum in 1 all-reduce (12 B)");
  options.gradients = {.seed = seed, .of_variables = {gradient}};
  auto given = DataParallel::make(g, options);
  ASSERT_TRUE(given.ok()) << given.status().to_string();
  EXPECT_NE(given->summary().find("1 sum in 1 all-reduce"), std::string::npos) << given->summary();
  options.losses.push_back(reduce_sum(x));
  EXPECT_FALSE(DataParallel::make(g, options).ok()) << "given gradients are of one loss";
}

TEST(BatchAxes, TellInWhichOrderRowsLie) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 3, 2});
  const Value together = reshape(x, {-1, 2});
  const Value flat = reshape(transpose(x, {1, 0, 2}), {-1, 2});
  const Value twice = concat({flat, flat}, 0), half = split(twice, 2)[1], tiled = tile(twice, {2, 1});
  const Value beside = concat({flat, flat}, 1), unlike = concat({flat, together}, 0);
  const Value back = reshape(flat, {3, -1, 2});
  const Value numbers = range(constant(g, 0), index(shape(x), {std::int64_t{0}}), constant(g, 1));
  const auto axes = BatchAxes::find(g, {x.node()});
  ASSERT_TRUE(axes.ok()) << axes.status().to_string();
  EXPECT_EQ(axes->repeats(together.endpoint()), 1);
  EXPECT_TRUE(axes->is_contiguous_in_batch(together.endpoint()));
  EXPECT_EQ(axes->repeats(flat.endpoint()), 3);
  EXPECT_FALSE(axes->is_contiguous_in_batch(flat.endpoint()));
  EXPECT_TRUE(axes->preserves_example_order(flat.node()));
  EXPECT_EQ(axes->repeats(twice.endpoint()), 6);
  EXPECT_EQ(axes->repeats(half.endpoint()), 3);
  EXPECT_EQ(axes->repeats(tiled.endpoint()), 12);
  EXPECT_EQ(axes->repeats(beside.endpoint()), 3);
  EXPECT_EQ(axes->repeats(unlike.endpoint()), 0) << "of one half an example has three rows at a time, of the other one";
  EXPECT_FALSE(axes->preserves_example_order(unlike.node()));
  EXPECT_EQ(axes->repeats(back.endpoint()), 1);
  EXPECT_TRUE(axes->is_contiguous_in_batch(back.endpoint()));
  EXPECT_FALSE(axes->preserves_example_order(numbers.node())) << "a shard counts from zero";
}

}  // namespace
}  // namespace argosy
