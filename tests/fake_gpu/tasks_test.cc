// Training over tasks whose devices are GPUs: gradients go to the host, over the network and back. The bits of one process
// with as many GPUs, in the first steps and in those that are replayed.
#include <gmock/gmock.h>

#include <complex>

#include "argosy/comm/net/net_test_support.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/testing/fake_cluster.h"
#include "argosy/train/tasks/test_job.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"
#include "tests/fake_gpu/support/small_training.h"

namespace argosy {
namespace {

Result<TrainReport> train(const ModelBuilder& model, const DeviceRequest& devices, std::string_view strategy,
                          JobTasks* tasks, DType compute = DType::kInvalid) {
  TrainerOptions options = small_training(devices, tasks);
  options.compute = compute;
  ARGOSY_ASSIGN_OR_RETURN(options.strategy, StrategySpec::parse(strategy));
  return train_small(model, std::move(options));
}

std::string gpus(int first, int count) {
  std::string text;
  for (int g = first; g < first + count; ++g) text += str_cat(g == first ? "" : ",", "gpu:", g);
  return text;
}

struct Shape2 {
  int tasks, devices;
};

void expect_one_process(const ModelBuilder& model, std::string_view strategy, const std::vector<Shape2>& shapes,
                        DType compute = DType::kInvalid) {
  for (const auto& [tasks, devices] : shapes) {
    SCOPED_TRACE(str_cat(strategy, " on ", tasks, " tasks of ", devices));
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(tasks * devices), cuda::fake::with_kernels());
    const auto expected = train(model, machine.request(gpus(0, tasks * devices)), strategy, nullptr, compute);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    run_job(tasks, [&, devices = devices](JobTasks& job) {
      const auto found = train(model, machine.request(gpus(job.rank() * devices, devices)), strategy, &job, compute);
      ASSERT_TRUE(found.ok()) << "task " << job.rank() << ": " << found.status().to_string();
      EXPECT_EQ(found->losses, expected->losses) << "task " << job.rank();
      EXPECT_EQ(found->evaluation, expected->evaluation) << "task " << job.rank();
      EXPECT_EQ(found->devices.size(), expected->devices.size());
    });
  }
}

TEST(CudaTasks, GpusOfTasksHaveTheBitsOfOneProcess) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  expect_one_process(small_mlp(), "dp", {{2, 1}, {2, 2}, {3, 1}});
}

TEST(CudaTasks, StrategiesAndDropout) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  expect_one_process(small_mlp(0.3), "dp", {{2, 1}});
  expect_one_process(small_mlp(), "dp,accumulate=2", {{2, 2}});
  expect_one_process(small_mlp(), "dp,zero=1", {{2, 1}, {2, 2}});
}

TEST(CudaTasks, SixteenBitsAreRoundedOnce) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  expect_one_process(small_mlp(), "dp", {{2, 1}, {2, 2}}, DType::kBfloat16);
}

// One task trains on a GPU and one on its CPU: the sums meet in the host's memory.
TEST(CudaTasks, GpusAndCpusMix) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  const auto expected = train(small_mlp(), {.devices = "cpu:0"}, "dp", nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  run_job(2, [&](JobTasks& job) {
    const DeviceRequest devices = job.rank() == 0 ? machine.request("gpu:0") : DeviceRequest{.devices = "cpu:0"};
    const auto found = train(small_mlp(), devices, "dp", &job);
    ASSERT_TRUE(found.ok()) << "task " << job.rank() << ": " << found.status().to_string();
    for (std::size_t i = 0; i < found->losses.size(); ++i) {
      EXPECT_NEAR(found->losses[i], expected->losses[i], 1e-4 * std::abs(expected->losses[i])) << i;
    }
  });
}

// Kernels of a GPU take some dtypes alone. What another task's GPU does not take runs on that task's CPU. A master with a GPU
// of that kind knows its kernels; else the other task moves the node.
TEST(CudaTasks, WhatAnotherTasksGpuDoesNotTakeRunsOnItsCpu) {
  for (const bool master_has_gpu : {true, false}) {
    SCOPED_TRACE(master_has_gpu ? "a master with a GPU" : "a master without");
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
    FakeTask master{.job = "worker"}, other{.job = "ps", .request = machine.request("gpu:1")};
    if (master_has_gpu) master.request = machine.request("gpu:0");
    const auto cluster = FakeCluster::make({master, other});
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    Graph g;
    Value x, counted;
    {
      const auto there = g.device("/job:ps/task:0/device:GPU:0");
      x = placeholder(g, DType::kInt64, {});
      const Value range = g.add(
          "Range", {constant(g, Tensor::scalar(std::int64_t{0})), x, constant(g, Tensor::scalar(std::int64_t{1}))});
      counted = cast(range, DType::kFloat32);
    }
    SessionOptions options = (*cluster)->options();
    options.allow_soft_placement = true;
    Session session(g, options);
    const auto out = session.run({{x, Tensor::scalar(std::int64_t{5})}}, {counted});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ((*out)[0].shape(), Shape({5}));
    EXPECT_EQ((*out)[0].data<float>()[4], 4.0f);
  }
}

// A variable goes where all its users can: those of later steps, too.
TEST(CudaTasks, AVariableThatAnotherTasksGpuCannotUpdateLivesOnItsCpu) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  const auto cluster = FakeCluster::make(
      {{.job = "worker", .request = machine.request("gpu:0")}, {.job = "ps", .request = machine.request("gpu:1")}});
  ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
  Graph g;
  Value start, more, read;
  {
    const auto there = g.device("/job:ps/task:0/device:GPU:0");
    const Value v = g.add("VarHandleOp", {}, {{"dtype", DType::kComplex64}, {"shape", PartialShape({2})}}, "v");
    const Value two = constant(g, Tensor::vector<std::complex<float>>({3, 4}));
    start = g.add("AssignVariableOp", {v, two}).control();
    more = g.add("AssignAddVariableOp", {v, two}).control();
    read = g.add("ReadVariableOp", {v}, {{"dtype", DType::kComplex64}});
  }
  SessionOptions options = (*cluster)->options();
  options.allow_soft_placement = true;
  Session session(g, options);
  for (const Value& step : {start, more, more}) {
    const Status ran = session.run_targets({step});
    ASSERT_TRUE(ran.ok()) << ran.to_string();
  }
  const auto out = session.run({}, {read});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].data<std::complex<float>>()[1], 12.0f);
}

}  // namespace
}  // namespace argosy
