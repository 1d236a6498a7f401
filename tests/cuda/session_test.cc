#include "argosy/runtime/session.h"

#include <gmock/gmock.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/testing/op_case.h"
#include "tests/cuda/fake_machine.h"

namespace argosy {

namespace {

using testing::HasSubstr;

// A chain of products and sums over devices; what it gives on the CPU and on cards.
struct Chain {
  Graph graph;
  Value x, y;

  explicit Chain(int gpus, int links = 6) {
    x = placeholder(graph, DType::kFloat32, {-1, 8}, "x");
    y = x;
    for (int i = 0; i < links; ++i) {
      const auto on = graph.device(gpus == 0 ? "/cpu:0" : str_cat("/gpu:", i % gpus));
      y = tanh(matmul(y, constant(graph, random_tensor(DType::kFloat32, {8, 8}, static_cast<std::uint64_t>(i + 1)))) +
               y);
    }
  }
};

Tensor run_chain(Chain& chain, const SessionOptions& options, int batch, int steps = 3) {
  Session session(chain.graph, options);
  EXPECT_TRUE(session.status().ok()) << session.status().to_string();
  Tensor last;
  for (int i = 0; i < steps; ++i) {
    const auto out = session.run({{chain.x, random_tensor(DType::kFloat32, {batch, 8}, 99)}}, {chain.y});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    if (!out.ok()) break;
    if (last.valid()) {
      EXPECT_EQ(difference(out->at(0), last, 0), "");
    }
    last = out->at(0);
  }
  return last;
}

TEST(CudaSession, OneCardGivesWhatTheCpuGives) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(1), cuda::fake::with_kernels());
  Chain on_cpu(0), on_card(1);
  const Tensor expected = run_chain(on_cpu, {}, 5);
  EXPECT_EQ(difference(run_chain(on_card, {.devices = machine.request("gpu:0")}, 5), expected, 1e-5), "");
  EXPECT_GT(machine.cards().counts().launches, 0);
  EXPECT_EQ(machine.cards().contexts(0), 0);
}

TEST(CudaSession, CardsHandOverToEachOtherInStreamOrder) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(3), cuda::fake::with_kernels());
  Chain on_cpu(0, 12), on_cards(3, 12);
  const Tensor expected = run_chain(on_cpu, {}, 64);
  EXPECT_EQ(difference(run_chain(on_cards, {.devices = machine.request()}, 64, 20), expected, 1e-5), "");
  EXPECT_GT(machine.cards().counts().direct_copies, 0);
}

TEST(CudaSession, VirtualGpusOfOneCardWorkTogether) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(1), cuda::fake::with_kernels());
  Chain on_cpu(0), on_cards(4, 6);
  DeviceRequest request = machine.request();
  request.virtual_gpus = "4";
  EXPECT_EQ(difference(run_chain(on_cards, {.devices = request}, 7), run_chain(on_cpu, {}, 7), 1e-5), "");
}

TEST(CudaSession, WhatHasNoKernelForItsDtypeGoesToTheCpuAndSaysSo) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(1), cuda::fake::with_kernels());
  Graph graph;
  Value z, sum;
  {
    const auto on = graph.device("/gpu:0");
    z = placeholder(graph, DType::kComplex128, {2}, "z");
    sum = z + z;
  }
  Session session(graph, {.devices = machine.request()});
  const auto report = session.placement({{z, Shape{2}}}, {sum}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->summary(), HasSubstr("no GPU kernel for"));
}

TEST(CudaSession, ALostCardFailsTheStepAndTheProcessGoesOn) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(2), cuda::fake::with_kernels());
  Chain chain(2);
  const Feeds feeds = {{chain.x, random_tensor(DType::kFloat32, {5, 8}, 99)}};
  {
    Session session(chain.graph, {.devices = machine.request()});
    ASSERT_TRUE(session.run(feeds, {chain.y}).ok());
    machine.cards().fail_launch(3);
    const auto failed = session.run(feeds, {chain.y});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.status().id(), "ARG-DEV-003") << failed.status().to_string();
    EXPECT_EQ(session.run(feeds, {chain.y}).status().id(), "ARG-DEV-003");
  }
  Session cpu(chain.graph, {.devices = {.devices = "cpu:0", .gpus = machine.backend()}});
  EXPECT_TRUE(cpu.run(feeds, {chain.y}).ok());
}

// Reliability R41: whichever allocation fails, the step fails with an error and the next one works.
TEST(CudaSession, EveryAllocationMayFailOnce) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(1), cuda::fake::with_kernels());
  Chain chain(1);
  const Feeds feeds = {{chain.x, random_tensor(DType::kFloat32, {5, 8}, 99)}};
  int failures = 0;
  for (int n = 1; n < 30; ++n) {
    DeviceRequest request = machine.request();
    request.faults = str_cat("gpu:0:alloc=", n);
    Session session(chain.graph, {.devices = request});
    auto out = session.run(feeds, {chain.y});
    if (!out.ok()) {
      ++failures;
      EXPECT_EQ(out.status().code(), Code::kResourceExhausted) << out.status().to_string();
      out = session.run(feeds, {chain.y});
    }
    ASSERT_TRUE(out.ok()) << n << ": " << out.status().to_string();
  }
  EXPECT_GT(failures, 3);
}

TEST(CudaSession, AHundredSessionsLeaveNothingBehind) {
  cuda::fake::Machine machine(cuda::fake::cards_with_kernels(2), cuda::fake::with_kernels());
  for (int i = 0; i < 100; ++i) {
    Chain chain(2, 2);
    run_chain(chain, {.devices = machine.request()}, 3, 1);
    ASSERT_EQ(machine.cards().live_objects(), 0) << i;
    ASSERT_EQ(machine.cards().bytes_reserved(0), 0U);
  }
}

}  // namespace

}  // namespace argosy
