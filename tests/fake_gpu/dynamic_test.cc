// Loops over several fake GPUs, by dataflow: instructions are enqueued; the host does not wait for them.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

constexpr int kTurns = 4;

// A loop carries two values, one on each GPU; with `meet`, they change places in every iteration.
struct TwoGpus {
  Graph graph;
  Value x, y, out_x, out_y;

  explicit TwoGpus(bool meet) {
    x = placeholder(graph, DType::kFloat32, {16}, "x");
    y = placeholder(graph, DType::kFloat32, {16}, "y");
    const auto last = while_loop(
        {constant(graph, Tensor::scalar(0)), x, y},
        [&](const auto& v) {
          const auto on = graph.device("/cpu:0");  // numbers that the host is to look at
          return less(v[0], constant(graph, Tensor::scalar(kTurns)));
        },
        [&](const auto& v) {
          Value a, b, next;
          {
            const auto on = graph.device("/cpu:0");
            next = v[0] + constant(graph, Tensor::scalar(1));
          }
          {
            const auto on = graph.device("/gpu:0");
            a = tanh(v[1] * constant(graph, Tensor::scalar(0.5f))) + v[1];
          }
          {
            const auto on = graph.device("/gpu:1");
            b = sin(v[2]) + v[2];
          }
          return std::vector<Value>{next, meet ? b : a, meet ? a : b};
        });
    out_x = last[1];
    out_y = last[2];
  }

  Result<std::vector<Tensor>> run(Session& session, const Tensor& a, const Tensor& b) {
    return session.run({{x, a}, {y, b}}, {out_x, out_y});
  }
};

void expect_right(const Result<std::vector<Tensor>>& out, const Tensor& a, const Tensor& b, bool meet) {
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  Tensor p = a.clone(), q = b.clone();
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::int64_t i = 0; i < p.elements(); ++i) {
      float &s = p.data<float>()[i], &t = q.data<float>()[i];
      s = std::tanh(s * 0.5f) + s;
      t = std::sin(t) + t;
    }
    if (meet) std::swap(p, q);
  }
  EXPECT_EQ(difference((*out)[0], p, 1e-5), "");
  EXPECT_EQ(difference((*out)[1], q, 1e-5), "");
}

const Tensor kA = random_tensor(DType::kFloat32, {16}, 1), kB = random_tensor(DType::kFloat32, {16}, 2);

TEST(DynamicOnGpus, ValuesThatMeetGoFromGpuToGpu) {
  for (const bool reach : {true, false}) {
    cuda::fake::Options options = cuda::fake::gpus_with_kernels(2);
    options.peers_reach = reach;
    cuda::fake::Machine machine(options, cuda::fake::with_kernels());
    TwoGpus loop(true);
    Session session(loop.graph, {.devices = machine.request(), .optimize = false});
    const auto report = session.placement({{loop.x, Shape{16}}, {loop.y, Shape{16}}}, {loop.out_x, loop.out_y}, {});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    ASSERT_THAT(report->summary(), HasSubstr("by dataflow rules"));
    for (int i = 0; i < 20; ++i) expect_right(loop.run(session, kA, kB), kA, kB, true);
  }
}

TEST(DynamicOnGpus, NobodyWaitsForAKernelWhoseValueStaysOnItsGpu) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {16}, "x");
  const auto last = while_loop(
      {constant(graph, Tensor::scalar(0)), x},
      [&](const auto& v) {
        const auto on = graph.device("/cpu:0");
        return less(v[0], constant(graph, Tensor::scalar(kTurns)));
      },
      [&](const auto& v) {
        Value next;
        {
          const auto on = graph.device("/cpu:0");
          next = v[0] + constant(graph, Tensor::scalar(1));
        }
        const auto on = graph.device("/gpu:0");
        return std::vector<Value>{next, tanh(v[1]) + v[1]};
      });
  Session session(graph, {.devices = machine.request(), .optimize = false});
  const auto report = session.placement({{x, Shape{16}}}, {last[1]}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_THAT(report->summary(), HasSubstr("by dataflow rules"));
  const auto expected = session.run({{x, kA}}, {last[1]});
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  // The first kernel of the next run does not end: those of all turns are started nevertheless.
  const std::int64_t of_a_run = machine.driver().counts().launch_calls;
  EXPECT_EQ(of_a_run, 2 * kTurns);
  machine.driver().hang_launch(1);
  Result<std::vector<Tensor>> out = internal_error("not run");
  std::thread runner([&] { out = session.run({{x, kA}}, {last[1]}); });
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (machine.driver().counts().launch_calls < 2 * of_a_run && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(machine.driver().counts().launch_calls, 2 * of_a_run);
  machine.driver().end_hang();
  runner.join();
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], (*expected)[0], 0), "");
}

TEST(DynamicOnGpus, AKernelThatFailsFailsTheRunAndNamesTheGpu) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  TwoGpus loop(true);
  Session session(loop.graph, {.devices = machine.request(), .optimize = false});
  expect_right(loop.run(session, kA, kB), kA, kB, true);
  machine.driver().fail_launch(3);
  const auto out = loop.run(session, kA, kB);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().id(), "ARG-DEV-003");
  EXPECT_THAT(out.status().to_string(), HasSubstr("gpu:"));
}

TEST(DynamicOnGpus, MemoryIsGivenBackAndUsedAgain) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
  TwoGpus loop(true);
  {
    Session session(loop.graph, {.devices = machine.request(), .optimize = false});
    expect_right(loop.run(session, kA, kB), kA, kB, true);
    const std::uint64_t after_one = machine.driver().bytes_in_use(0);
    for (int i = 0; i < 10; ++i) expect_right(loop.run(session, kA, kB), kA, kB, true);
    EXPECT_LE(machine.driver().bytes_in_use(0), after_one + 4096);
  }
  EXPECT_EQ(machine.driver().bytes_in_use(0), 0U);
}

}  // namespace
}  // namespace argosy
