// Collectives of GPUs by a fake NCCL: the calls it gets, and how a step ends when it hangs, fails or cannot be used.
#include "argosy/comm/nccl/nccl.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/comm/nccl/fake/fake_nccl.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy::cuda {
namespace {

using ::testing::HasSubstr;

Status version_of(int version, int missing = 0) {
  fake::FakeNccl nccl({.version = version, .missing = missing});
  return Nccl::over(nccl.calls(), "libnccl.so.2").status();
}

TEST(Nccl, IsRefusedWithTheReason) {
  EXPECT_TRUE(version_of(22809).ok());
  EXPECT_EQ(version_of(21304).id(), "ARG-GPU-012");
  EXPECT_THAT(version_of(21304).message(), HasSubstr("too old"));
  EXPECT_THAT(version_of(22809, 1).message(), HasSubstr("lacks ncclCommInitRankConfig"));
  EXPECT_THAT(version_of(22809, 2).message(), HasSubstr("lacks a collective"));
}

// Two fake GPUs, a graph that sums over them, and NCCL as it is given.
struct Summing {
  explicit Summing(const fake::NcclFaults& faults = {})
      : nccl(faults), machine(fake::gpus_with_kernels(2), fake::with_kernels()) {
    machine.backend()->links().shared(
        "nccl", [&] { return std::make_shared<NcclAvailable>(Nccl::over(nccl.calls(), "libnccl.so.2")); });
    for (int r = 0; r < 2; ++r) {
      const auto on = graph.device(str_cat("/gpu:", r));
      x[r] = placeholder(graph, DType::kFloat32, {1000}, str_cat("x", r));
      const Value sum = all_reduce({tanh(x[r])}, {.group = "bucket 3", .rank = r, .size = 2})[0];
      y[r] = sum * constant(graph, Tensor::scalar(2.0f));
    }
  }
  Result<std::vector<Tensor>> run(Session& session) { return session.run({{x[0], a}, {x[1], b}}, {y[0], y[1]}); }
  // tanh(a) + tanh(b), doubled.
  void expect_right(const Result<std::vector<Tensor>>& out) {
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (int i = 0; i < 1000; ++i) {
      const float expected = 2 * (std::tanh(a.data<float>()[i]) + std::tanh(b.data<float>()[i]));
      ASSERT_NEAR((*out)[0].data<float>()[i], expected, 1e-5);
      ASSERT_NEAR((*out)[1].data<float>()[i], expected, 1e-5);
    }
  }

  fake::FakeNccl nccl;
  fake::Machine machine;
  Graph graph;
  Value x[2], y[2];
  const Tensor a = random_tensor(DType::kFloat32, {1000}, 1), b = random_tensor(DType::kFloat32, {1000}, 2);
};

TEST(NcclInSteps, SumsAndSaysSo) {
  Summing summing;
  {
    Session session(summing.graph, {.devices = summing.machine.request(), .optimize = false});
    const auto report =
        session.placement({{summing.x[0], Shape{1000}}, {summing.x[1], Shape{1000}}}, {summing.y[0], summing.y[1]}, {});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_THAT(report->summary(), HasSubstr("collectives of gpu:0, gpu:1: NCCL"));
    for (int i = 0; i < 5; ++i) summing.expect_right(summing.run(session));
    EXPECT_GE(summing.nccl.collectives(), 5);
    EXPECT_EQ(summing.nccl.communicators(), 2);
  }
  EXPECT_EQ(summing.nccl.communicators(), 0);
}

// Reliability R42: within the time-out, a named error, the process alive, and the next step works.
TEST(NcclInSteps, ARankThatHangsFailsTheStepInTime) {
  setenv("ARGOSY_COLLECTIVE_TIMEOUT", "2", 1);  // longer than a busy machine keeps a thread waiting
  Summing summing;
  Session session(summing.graph, {.devices = summing.machine.request(), .optimize = false});
  summing.expect_right(summing.run(session));
  summing.nccl.hang(1);
  const std::int64_t start = now_nanos();
  const auto failed = summing.run(session);
  EXPECT_LT(now_nanos() - start, 10'000'000'000);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().id(), "ARG-COMM-004") << failed.status().to_string();
  EXPECT_THAT(failed.status().message(), HasSubstr("bucket 3"));
  EXPECT_THAT(failed.status().message(), HasSubstr("gpu:1"));
  EXPECT_GE(summing.nccl.aborts(), 2);
  summing.nccl.hang(-1);
  summing.expect_right(summing.run(session));
  unsetenv("ARGOSY_COLLECTIVE_TIMEOUT");
}

// Communicators that are given up end all sums under way half done. No step goes on with half a sum: it fails, or its sum
// was made another way.
TEST(NcclInSteps, NoStepGoesOnWithHalfASum) {
  std::atomic<int> failed{0};
  for (int round = 0; round < 30 && failed < 6; ++round) {
    Summing summing;
    Session session(summing.graph, {.devices = summing.machine.request(), .optimize = false});
    summing.expect_right(summing.run(session));
    summing.nccl.hang(1);
    const auto step = [&] {
      const auto out = summing.run(session);
      if (out.ok()) return summing.expect_right(out);
      EXPECT_EQ(out.status().id(), "ARG-COMM-004") << out.status().to_string();
      ++failed;
    };
    std::thread first(step);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));
    std::thread second(step);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    summing.nccl.break_down(kNcclRemoteError);
    first.join();
    second.join();
  }
  EXPECT_GE(failed, 1);
}

// What TensorFlow's strategies have in their graphs: a mean, a gathering and a broadcast beside NCCL's own op.
TEST(NcclInSteps, MembersFindEachOtherByName) {
  for (const fake::NcclFaults& faults : {fake::NcclFaults{}, fake::NcclFaults{.version = 20000}}) {
    fake::FakeNccl nccl(faults);
    fake::Machine machine(fake::gpus_with_kernels(2), fake::with_kernels());
    machine.backend()->links().shared(
        "nccl", [&] { return std::make_shared<NcclAvailable>(Nccl::over(nccl.calls(), "libnccl.so.2")); });
    Graph graph;
    std::vector<Value> out, x;
    const auto keys = [&](std::int64_t instance) {
      return AttrMap{{"group_size", 2}, {"group_key", 1}, {"instance_key", instance}};
    };
    for (int r = 0; r < 2; ++r) {
      const auto on = graph.device(str_cat("/gpu:", r));
      x.push_back(placeholder(graph, DType::kFloat32, {2}, str_cat("x", r)));
      const Value here = x[r] + x[r];
      AttrMap sum = {{"reduction", "sum"}, {"num_devices", 2}, {"shared_name", "c0"}};
      out.push_back(graph.add("NcclAllReduce", {here}, sum));
      AttrMap mean = keys(1), all = keys(2), sent = keys(3);
      mean.set("merge_op", "Add");
      mean.set("final_op", "Div");
      mean.set("subdiv_offsets", std::vector<std::int64_t>{0});
      out.push_back(graph.add("CollectiveReduce", {here}, mean));
      all.set("shape", PartialShape{0});
      out.push_back(graph.add("CollectiveGather", {here}, all));
      sent.set("shape", PartialShape{2});
      sent.set("T", DType::kFloat32);
      out.push_back(r == 1 ? graph.add("CollectiveBcastSend", {here}, sent)
                           : graph.add("CollectiveBcastRecv", {}, sent));
    }
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    Session session(graph, {.devices = machine.request(), .allow_soft_placement = false, .optimize = false});
    for (int step = 0; step < 3; ++step) {
      const auto got = session.run({{x[0], Tensor::vector<float>({1, 2})}, {x[1], Tensor::vector<float>({3, 5})}}, out);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      for (std::size_t r = 0; r < 2; ++r) {
        EXPECT_EQ((*got)[4 * r].to_string(10), "float[2] {8, 14}");
        EXPECT_EQ((*got)[4 * r + 1].to_string(10), "float[2] {4, 7}");
        EXPECT_EQ((*got)[4 * r + 2].to_string(10), "float[4] {2, 4, 6, 10}");
        EXPECT_EQ((*got)[4 * r + 3].to_string(10), "float[2] {6, 10}");
      }
    }
  }
}

TEST(NcclInSteps, WhereItCannotConnectOurOwnTakeOver) {
  for (const fake::NcclFaults& faults :
       {fake::NcclFaults{.init_fails = true}, fake::NcclFaults{.lies = true}, fake::NcclFaults{.version = 20000}}) {
    Summing summing(faults);
    Session session(summing.graph, {.devices = summing.machine.request(), .optimize = false});
    for (int i = 0; i < 3; ++i) summing.expect_right(summing.run(session));
  }
}

TEST(NcclCommunicators, DoEveryCollective) {
  fake::FakeNccl nccl;
  fake::Machine machine(fake::gpus_with_kernels(2), fake::with_kernels());
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::vector<CudaDevice*> pointers;
  for (int r = 0; r < 2; ++r) pointers.push_back(devices.emplace_back(machine.device(r)).get());
  auto collectives = NcclCollectives::make(*Nccl::over(nccl.calls(), "libnccl.so.2"), pointers);
  const InprocGroup group(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      CudaDevice& device = *pointers[static_cast<std::size_t>(r)];
      const auto rank = group.on_device(r, &device, collectives.get());
      Communicator& c = *rank;
      const auto put = [&](const std::vector<float>& values) {
        const Tensor here = Tensor::vector<float>(values);
        Tensor there = Tensor::allocate(DType::kFloat32, here.shape(), device.allocator()).value();
        EXPECT_TRUE(device.upload(there.raw(), here.raw(), here.bytes()).ok());
        return there;
      };
      const auto get = [&](const Tensor& there) {
        std::vector<float> values(static_cast<std::size_t>(there.elements()));
        EXPECT_TRUE(device.download(values.data(), there.raw(), there.bytes()).ok());
        return values;
      };
      const float f = static_cast<float>(r);
      const Tensor sum = put({1 + f, 10 * f}), both = put({0, 0}), mine = put({f + 1}), pair = put({f, f + 5}),
                   other = put({0, 0});
      EXPECT_TRUE(c.all_reduce({&sum, 1}, Reduction::kSum).ok());
      EXPECT_EQ(get(sum), (std::vector<float>{3, 10}));
      EXPECT_TRUE(c.all_gather(mine, both).ok());
      EXPECT_EQ(get(both), (std::vector<float>{1, 2}));
      EXPECT_TRUE(c.reduce_scatter(both, mine, Reduction::kSum).ok());
      EXPECT_EQ(get(mine), (std::vector<float>{r == 0 ? 2.0f : 4.0f}));
      const Shard shard{r, {&both, 1}};
      EXPECT_TRUE(c.reduce_scatter_shards({&shard, 1}, 2, {&mine, 1}, Reduction::kSum, {.name = "shards"}).ok());
      EXPECT_EQ(get(mine), (std::vector<float>{r == 0 ? 2.0f : 4.0f}));
      const std::vector<Tensor> sent = {put({f}), put({f + 10, f + 20})},
                                got = r == 0 ? std::vector{put({0}), put({0})} : std::vector{put({0, 0}), put({0, 0})};
      EXPECT_TRUE(c.all_to_all_parts(sent, got).ok());
      EXPECT_EQ(get(got[0]), r == 0 ? (std::vector<float>{0}) : (std::vector<float>{10, 20}));
      EXPECT_EQ(get(got[1]), r == 0 ? (std::vector<float>{1}) : (std::vector<float>{11, 21}));
      EXPECT_TRUE(c.all_to_all(pair, other).ok());
      EXPECT_EQ(get(other), r == 0 ? (std::vector<float>{0, 1}) : (std::vector<float>{5, 6}));
      EXPECT_TRUE(c.broadcast({&pair, 1}, 1).ok());
      EXPECT_EQ(get(pair), (std::vector<float>{1, 6}));
      EXPECT_TRUE((r == 0 ? c.send(sum, 1) : c.recv(other, 0)).ok());
      EXPECT_EQ(get(r == 1 ? other : sum), (std::vector<float>{3, 10}));
      EXPECT_TRUE(c.barrier().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace argosy::cuda
