#include "argosy/runtime/session/session.h"

#include <gmock/gmock.h>

#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/execute/captured_region.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {

namespace {

using testing::HasSubstr;

// A chain of elementwise ops over GPUs.
struct Chain {
  Graph graph;
  Value x, y;

  explicit Chain(int gpus, int links = 6) {
    x = placeholder(graph, DType::kFloat32, {-1, 8}, "x");
    y = x;
    for (int i = 0; i < links; ++i) {
      const auto on = graph.device(str_cat("/gpu:", i % gpus));
      y = tanh(y * constant(graph, random_tensor(DType::kFloat32, {8}, static_cast<std::uint64_t>(i + 1))) + y);
    }
  }
};

Tensor input(int batch) { return random_tensor(DType::kFloat32, {batch, 8}, 99); }

// The same in a loop.
Tensor expected_of(const Tensor& x, int links = 6) {
  Tensor y = x.clone();
  for (int i = 0; i < links; ++i) {
    const Tensor c = random_tensor(DType::kFloat32, {8}, static_cast<std::uint64_t>(i + 1));
    for (std::int64_t k = 0; k < y.elements(); ++k) {
      float& v = y.data<float>()[k];
      v = std::tanh(v * c.data<float>()[k % 8] + v);
    }
  }
  return y;
}

Tensor run_chain(Chain& chain, SessionOptions options, int batch, int steps = 3) {
  options.optimize = false;  // every op is a node
  Session session(chain.graph, options);
  EXPECT_TRUE(session.status().ok()) << session.status().to_string();
  Tensor last;
  for (int i = 0; i < steps; ++i) {
    const auto out = session.run({{chain.x, input(batch)}}, {chain.y});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    if (!out.ok()) break;
    if (last.valid()) {
      EXPECT_EQ(difference(out->at(0), last, 0), "");
    }
    last = out->at(0);
  }
  return last;
}

TEST(CudaSession, OneGpuGivesWhatALoopGives) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Chain on_gpu(1);
  EXPECT_EQ(difference(run_chain(on_gpu, {.devices = machine.request("gpu:0")}, 5), expected_of(input(5)), 1e-5), "");
  EXPECT_GT(machine.driver().counts().launches, 0);
  EXPECT_EQ(machine.driver().contexts(0), 0);
}

TEST(CudaSession, GpusHandOverToEachOtherInStreamOrder) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(3), cuda::fake::with_kernels());
  Chain on_gpus(3, 12);
  EXPECT_EQ(difference(run_chain(on_gpus, {.devices = machine.request()}, 64, 20), expected_of(input(64), 12), 1e-5),
            "");
  EXPECT_GT(machine.driver().counts().direct_copies, 0);
}

TEST(CudaSession, VirtualGpusOfOnePhysicalGpuWorkTogether) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Chain on_gpus(4);
  DeviceRequest request = machine.request();
  request.virtual_gpus = "4";
  EXPECT_EQ(difference(run_chain(on_gpus, {.devices = request}, 7), expected_of(input(7)), 1e-5), "");
}

TEST(CudaSession, SteadyStepsAreRecordedAndRepeated) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  Chain on_gpu(1), on_gpus(2, 16);
  const Tensor expected = expected_of(input(5));
  Session session(on_gpu.graph, {.devices = machine.request("gpu:0"), .optimize = false});
  const auto report = session.placement({{on_gpu.x, Shape{5, 8}}}, {on_gpu.y}, {});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->summary(), HasSubstr("pass captured: gpu:0: "));
  const Feeds feeds = {{on_gpu.x, input(5)}};
  for (int i = 0; i < 10; ++i) {
    const auto before = machine.driver().counts();
    const auto out = session.run(feeds, {on_gpu.y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(difference(out->at(0), expected, 1e-5), "") << "run " << i;
    const auto after = machine.driver().counts();
    EXPECT_GT(after.launches, before.launches);
    EXPECT_EQ(after.launch_calls == before.launch_calls, i >= kWarmUpRuns) << "run " << i;
  }
  // What a steady step asks of the driver: its feed, the graph, its fetch, one wait. (Looks at events depend on time.)
  auto before = machine.driver().calls_made();
  ASSERT_TRUE(session.run(feeds, {on_gpu.y}).ok());
  std::int64_t calls = 0;
  for (const auto& [call, made] : machine.driver().calls_made()) {
    if (call != "cuEventQuery") calls += made - before[call];
  }
  EXPECT_LE(calls, 14);
  // Other values, in the same places; then another shape, which is another step.
  const Feeds others = {{on_gpu.x, random_tensor(DType::kFloat32, {5, 8}, 3)}};
  const auto changed = session.run(others, {on_gpu.y});
  ASSERT_TRUE(changed.ok());
  EXPECT_NE(difference(changed->at(0), expected, 1e-5), "");
  EXPECT_EQ(machine.driver().counts().graphs_made, 1);
  // Several GPUs, whose capture regions end where they hand over.
  EXPECT_EQ(difference(run_chain(on_gpus, {.devices = machine.request()}, 9, 12), expected_of(input(9), 16), 1e-5), "");
}

TEST(CudaSession, RecordingIsSwitchedOffByName) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  setenv("ARGOSY_CUDA_GRAPHS", "0", 1);
  Chain chain(1);
  run_chain(chain, {.devices = machine.request()}, 5, 6);
  unsetenv("ARGOSY_CUDA_GRAPHS");
  EXPECT_EQ(machine.driver().counts().graph_launches, 0);
}

TEST(CudaSession, WhatHasNoKernelForItsDtypeGoesToTheCpuAndSaysSo) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Graph graph;
  Value z, sum, power;
  {
    const auto on = graph.device("/gpu:0");
    z = placeholder(graph, DType::kComplex128, {2}, "z");
    sum = graph.add("AddV2", {z, z}, {}, "sum");
    power = graph.add("Log", {sum}, {}, "power");
  }
  Session session(graph, {.devices = machine.request()});
  const auto report = session.placement({{z, Shape{2}}}, {power}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::map<std::string, std::string> devices;
  for (const auto& row : report->rows) devices[row.node] = row.device;
  EXPECT_THAT(devices["sum"], HasSubstr("GPU"));
  EXPECT_THAT(devices["power"], HasSubstr("CPU"));
  EXPECT_THAT(report->summary(), HasSubstr("no GPU kernel for"));
}

// tf.train.limit_epochs counts so, in a step of its own.
TEST(CudaSession, AVariableLivesWhereAllThatUseItCanRun) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Graph graph;
  const auto on = graph.device("/gpu:0");
  const VariableNode v = variable(graph, Tensor::scalar(std::int64_t{0}), "v");
  const VariableNode w = variable(graph, Tensor::scalar(1.0F), "w");
  const Value count = graph.add("CountUpTo", {v.ref}, {{"limit", 3}}, "count");
  Session session(graph, {.devices = machine.request()});
  const auto report = session.placement({}, {}, {v.initializer, w.initializer});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::map<std::string, std::string> devices;
  for (const auto& row : report->rows) devices[row.node] = row.device;
  EXPECT_THAT(devices["v"], HasSubstr("CPU"));
  EXPECT_THAT(devices["w"], HasSubstr("GPU"));
  EXPECT_THAT(report->summary(), HasSubstr("no GPU kernel for CountUpTo, which 'count' does with it"));
  ASSERT_TRUE(session.run({}, {}, {v.initializer, w.initializer}).ok());
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto out = session.run({}, {count});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*out->at(0).data<std::int64_t>(), i);
  }
  EXPECT_EQ(session.run({}, {count}).status().code(), Code::kOutOfRange);
}

TEST(CudaSession, ALostGpuFailsTheStepAndTheProcessGoesOn) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  Chain chain(2);
  const Feeds feeds = {{chain.x, input(5)}};
  {
    Session session(chain.graph, {.devices = machine.request(), .optimize = false});
    ASSERT_TRUE(session.run(feeds, {chain.y}).ok());
    machine.driver().fail_launch(3);
    const auto failed = session.run(feeds, {chain.y});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.status().id(), "ARG-DEV-003") << failed.status().to_string();
    EXPECT_THAT(failed.status().message(), HasSubstr("device lost"));
    EXPECT_EQ(session.run(feeds, {chain.y}).status().id(), "ARG-DEV-003");
  }
  DeviceRequest other = machine.request("gpu:1");  // the GPU that is left, as this session's GPU:0
  Chain shorter(1);
  EXPECT_EQ(difference(run_chain(shorter, {.devices = other}, 5), expected_of(input(5)), 1e-5), "");
}

// Reliability R41: whichever allocation fails, the step fails with an error and the next one works.
TEST(CudaSession, EveryAllocationMayFailOnce) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Chain chain(1);
  const Feeds feeds = {{chain.x, input(5)}};
  int failures = 0;
  for (int n = 1; n < 30; ++n) {
    DeviceRequest request = machine.request();
    request.faults = str_cat("gpu:0:alloc=", n);
    Session session(chain.graph, {.devices = request, .optimize = false});
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
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  for (int i = 0; i < 100; ++i) {
    Chain chain(2, 2);
    run_chain(chain, {.devices = machine.request()}, 3, 1);
    ASSERT_EQ(machine.driver().live_objects(), 0) << i;
    ASSERT_EQ(machine.driver().bytes_reserved(0), 0U);
  }
}

}  // namespace

}  // namespace argosy
