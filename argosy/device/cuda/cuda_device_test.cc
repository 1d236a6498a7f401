#include "argosy/device/cuda/cuda_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/fake/fake_driver_machine.h"
#include "argosy/device/cuda/kernels/launch.h"
#include "argosy/tensor/tensor.h"

namespace argosy::cuda {

namespace {

using testing::HasSubstr;

const ModuleImage kImages[] = {{"test", ARGOSY_TEST_KERNELS}};

// What launch() wants of a KernelContext.
struct Context {
  CudaDevice* on;
  CudaDevice* device() { return on; }
  std::string_view node() const { return "sum"; }
};

Tensor range(std::int64_t n, float first) {
  Tensor t = Tensor::allocate(DType::kFloat32, {n}, host_allocator()).value();
  std::iota(t.data<float>(), t.data<float>() + n, first);
  return t;
}

Status add(CudaDevice& device, std::int64_t n, const Buffer& x, const Buffer& y, const Buffer& z) {
  Context c{&device};
  return launch(c, {"test", "test_add"}, grid_for(n), static_cast<long long>(n), x.data(), y.data(), z.data());
}

struct CudaDevices : testing::Test {
  fake::Machine machine{{.gpus = {{}, {}, {.name = "Unused"}}}, {.modules = kImages}};
};

TEST_F(CudaDevices, TakesNothingBeforeItIsUsedAndGivesAllBack) {
  {
    const auto device = machine.device();
    EXPECT_EQ(machine.driver().contexts(0), 0);
    EXPECT_EQ(device->launch_queue()->finish().to_string(), "OK");
    EXPECT_EQ(machine.driver().contexts(0), 0);
    const Buffer buffer = device->allocator().allocate(1000).value();
    EXPECT_EQ(machine.driver().contexts(0), 1);
    EXPECT_EQ(machine.driver().contexts(2), 0);
    EXPECT_EQ(device->allocator().stats().in_use_bytes, 1000U);
  }
  EXPECT_EQ(machine.driver().contexts(0), 0);
  EXPECT_EQ(machine.driver().bytes_reserved(0), 0U);
}

TEST_F(CudaDevices, LettingGoLeavesTheThreadsContextAlone) {
  auto a = machine.device(0), b = machine.device(1);
  Buffer early = a->allocator().allocate(1000).value(), late = a->allocator().allocate(1000).value();
  Context c{a.get()};
  ASSERT_TRUE(launch(c, {"test", "test_reverse"}, {.block = {250}}, early.data(), late.data()).ok());
  ASSERT_TRUE(b->make_current().ok());
  const auto current = [&] {
    CuContext context = nullptr;
    machine.driver().calls().cuCtxGetCurrent(&context);
    return context;
  };
  const CuContext of_b = core_of(*b)->context();
  early = Buffer();
  EXPECT_EQ(current(), of_b);
  a.reset();
  EXPECT_EQ(current(), of_b);
  late = Buffer();
  EXPECT_EQ(current(), of_b);
  EXPECT_EQ(machine.driver().contexts(0), 0);
  b.reset();
  EXPECT_EQ(current(), nullptr);
}

TEST_F(CudaDevices, ABufferMayOutliveItsDevice) {
  auto device = machine.device();
  Buffer buffer = device->allocator().allocate(1000).value();
  device.reset();
  EXPECT_EQ(machine.driver().contexts(0), 1);
  buffer = Buffer();
  EXPECT_EQ(machine.driver().contexts(0), 0);
}

TEST_F(CudaDevices, CopiesInComputesAndCopiesOut) {
  const auto device = machine.device();
  constexpr std::int64_t kN = 5000;
  const Tensor x = range(kN, 1), y = range(kN, 10), z = range(kN, 0);
  LaunchQueue& queue = *device->launch_queue();
  const Buffer dx = device->allocator().allocate(x.bytes()).value(),
               dy = device->allocator().allocate(x.bytes()).value(),
               dz = device->allocator().allocate(x.bytes()).value();
  const Event here_x = queue.copy_in(dx, x.buffer()).value();
  const Event here_y = queue.copy_in(dy, y.buffer()).value();
  ASSERT_TRUE(queue.wait(here_x).ok());
  ASSERT_TRUE(queue.wait(here_y).ok());
  ASSERT_EQ(add(*device, kN, dx, dy, dz).to_string(), "OK");
  const Event out = queue.copy_out(z.buffer(), dz).value();
  out.state()->wait();
  EXPECT_TRUE(out.state()->reached());
  for (std::int64_t i = 0; i < kN; ++i) ASSERT_EQ(z.data<float>()[i], 11 + 2 * static_cast<float>(i));
}

TEST_F(CudaDevices, LargeCopiesGoInPiecesThroughAFewPinnedBlocks) {
  const auto device = machine.device(0, std::uint64_t{256} << 20);
  constexpr std::int64_t kN = std::int64_t{21} << 20;  // 84 MiB, and no whole number of pieces more
  const Tensor x = range(kN + 5, 1), out = range(kN + 5, 0), back = range(kN + 5, 0);
  const Buffer there = device->allocator().allocate(x.bytes()).value();
  const Event here = device->launch_queue()->copy_in(there, x.buffer()).value();
  ASSERT_TRUE(device->launch_queue()->wait(here).ok());
  const Event fetched = device->launch_queue()->copy_out(out.buffer(), there).value();
  if (fetched.state() != nullptr) fetched.state()->wait();
  ASSERT_TRUE(device->download(back.raw(), there.data(), x.bytes()).ok());
  EXPECT_EQ(std::memcmp(out.raw(), x.raw(), x.bytes()), 0);
  EXPECT_EQ(std::memcmp(back.raw(), x.raw(), x.bytes()), 0);
  const auto calls = machine.driver().calls_made();
  EXPECT_EQ(calls.at("cuMemcpyHtoDAsync_v2"), 11);
  EXPECT_EQ(calls.at("cuMemcpyDtoHAsync_v2"), 22);
  EXPECT_LE(calls.at("cuMemHostAlloc"), 10);
}

TEST_F(CudaDevices, CommunicationComesBeforeWhatIsComputed) {
  const auto device = machine.device();
  ASSERT_TRUE(device->make_current().ok());
  DeviceCore& core = *core_of(*device);
  const auto stream = core.communication();
  ASSERT_TRUE(stream.ok()) << stream.status().to_string();
  EXPECT_LT(machine.driver().priority(*stream), machine.driver().priority(core.compute()));
}

TEST_F(CudaDevices, ALaunchAsksTheDriverForItAndItsContextAlone) {
  const auto device = machine.device();
  const Buffer x = device->allocator().allocate(4000).value();
  ASSERT_TRUE(device->fill(x.data(), 4, 0, 1000).ok());
  ASSERT_TRUE(add(*device, 1000, x, x, x).ok());  // loads its module
  auto before = machine.driver().calls_made();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(add(*device, 1000, x, x, x).ok());
  for (const auto& [call, made] : machine.driver().calls_made()) {
    const bool needed = call == "cuLaunchKernel" || call == "cuCtxSetCurrent";
    EXPECT_EQ(made - before[call], needed ? 100 : 0) << call;
  }
}

TEST_F(CudaDevices, FinishWaitsForCopiesThatNothingWaitedFor) {
  const auto device = machine.device();
  const Tensor x = range(1'000'000, 1);  // what is shorter goes in order with kernels
  const Buffer there = device->allocator().allocate(x.bytes()).value();
  ASSERT_TRUE(device->launch_queue()->finish().ok());
  std::atomic<bool> over = false;
  machine.driver().enqueue(core_of(*device)->copies(), "slow", [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    over = true;
    return kCuSuccess;
  });
  ASSERT_TRUE(device->launch_queue()->copy_in(there, x.buffer()).ok());
  ASSERT_TRUE(device->launch_queue()->finish().ok());
  EXPECT_TRUE(over);
}

TEST_F(CudaDevices, MemoryMayBeLetGoRightAfterTheLaunchThatUsesIt) {
  const auto device = machine.device();
  constexpr std::int64_t kN = 100'000;
  const Tensor x = range(kN, 1), sum = range(kN, 0);
  Buffer total = device->allocator().allocate(x.bytes()).value();
  ASSERT_TRUE(device->fill(total.data(), 4, 0, kN).ok());
  for (int round = 0; round < 20; ++round) {
    const Buffer dx = device->allocator().allocate(x.bytes()).value();
    Buffer next = device->allocator().allocate(x.bytes()).value();
    ASSERT_TRUE(device->upload(dx.data(), x.raw(), x.bytes()).ok());
    ASSERT_TRUE(add(*device, kN, dx, total, next).ok());
    total = next;  // dx and the old total go, while the kernel may not have begun
  }
  ASSERT_TRUE(device->download(sum.raw(), total.data(), sum.bytes()).ok());
  for (std::int64_t i = 0; i < kN; i += 999) ASSERT_EQ(sum.data<float>()[i], 20 * static_cast<float>(i + 1));
}

// A GPU refuses a block that is larger than what its kernel was compiled for; so does the fake one.
TEST_F(CudaDevices, ABlockIsNoLargerThanKernelsAreCompiledFor) {
  const auto device = machine.device();
  const Buffer x = device->allocator().allocate(4096).value();
  const auto start = [&](unsigned threads) {
    std::int64_t n = 1024;
    const void *from = x.data(), *to = x.data();
    void* arguments[] = {&n, &from, &from, &to};
    const LaunchShape shape{.grid = {1, 1, 1}, .block = {threads, 1, 1}};
    return device->launch(device->function("test", "test_add").value(), shape, arguments, "add");
  };
  EXPECT_TRUE(start(kMostThreads).ok());
  EXPECT_FALSE(start(kMostThreads + 32).ok());
}

TEST_F(CudaDevices, TheCapIsHardAndCountsLiveBuffers) {
  const auto device = machine.device(0, std::uint64_t{1} << 20);
  Buffer half = device->allocator().allocate(512 << 10).value();
  const auto refused = device->allocator().allocate((512 << 10) + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().id(), "ARG-MEM-001");
  EXPECT_THAT(refused.status().message(), HasSubstr("gpu:0"));
  half = Buffer();
  EXPECT_TRUE(device->allocator().allocate(1 << 20).ok());
  EXPECT_EQ(device->allocator().stats().peak_bytes, 1U << 20);
}

TEST_F(CudaDevices, MemoryOthersHoldIsAnErrorThatSaysSo) {
  const auto device = machine.device(0, std::uint64_t{1} << 40);  // the cap allows more than the GPU has
  const auto refused = device->allocator().allocate(std::uint64_t{300} << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().id(), "ARG-MEM-002");
  EXPECT_TRUE(device->allocator().allocate(std::uint64_t{1} << 20).ok());
}

TEST(CudaMemory, WhatIsKeptGoesBackWhenItIsNeededInAnotherSize) {
  fake::Machine machine{{.gpus = {{.memory_bytes = std::uint64_t{8} << 20}}}};
  const auto device = machine.device(0, std::uint64_t{7} << 20);
  { const Buffer big = device->allocator().allocate(std::uint64_t{6} << 20).value(); }
  const auto other = device->allocator().allocate(std::uint64_t{5} << 20);
  EXPECT_TRUE(other.ok()) << other.status().to_string();
}

TEST(CudaMemory, AVirtualGpuGetsWhatAnotherKeepsAndDoesNotUse) {
  fake::Machine machine{{.gpus = {{.memory_bytes = std::uint64_t{8} << 20}}}};
  const auto a = machine.device(0, std::uint64_t{6} << 20), b = machine.device(0, std::uint64_t{6} << 20);
  { const Buffer once = a->allocator().allocate(std::uint64_t{5} << 20).value(); }
  ASSERT_TRUE(a->launch_queue()->finish().ok());
  EXPECT_GT(machine.driver().bytes_reserved(0), std::uint64_t{4} << 20);
  const auto mine = b->allocator().allocate(std::uint64_t{5} << 20);
  EXPECT_TRUE(mine.ok()) << mine.status().to_string();
  EXPECT_EQ(a->allocator().allocate(std::uint64_t{5} << 20).status().id(), "ARG-MEM-002");
}

TEST_F(CudaDevices, CopiesBetweenGpusAreTriedOutAndGoDirectly) {
  const auto a = machine.device(0), b = machine.device(1);
  const Tensor x = range(1000, 3), back = range(1000, 0);
  const Buffer on_a = a->allocator().allocate(4000).value(), on_b = b->allocator().allocate(4000).value();
  ASSERT_TRUE(a->upload(on_a.data(), x.raw(), 4000).ok());
  const Event ready = a->launch_queue()->record().value();
  ASSERT_TRUE(b->launch_queue()->wait(ready).ok());
  const Event here = b->launch_queue()->copy_in(on_b, on_a).value();
  ASSERT_TRUE(b->launch_queue()->wait(here).ok());
  ASSERT_TRUE(b->download(back.raw(), on_b.data(), 4000).ok());
  EXPECT_EQ(std::memcmp(back.raw(), x.raw(), 4000), 0);
  EXPECT_EQ(machine.driver().counts().direct_copies, 3);  // two to try it out
}

TEST(CudaPeers, GpusThatLieAreGoneRound) {
  fake::Machine machine{{.gpus = {{}, {}}, .peers_lie = true}};
  const auto a = machine.device(0), b = machine.device(1);
  const Tensor x = range(3000, 3), back = range(3000, 0);
  const Buffer on_a = a->allocator().allocate(12000).value(), on_b = b->allocator().allocate(12000).value();
  a->copies().copy(on_a, x.buffer());
  ASSERT_TRUE(a->copies().synchronize().ok());
  b->copies().copy(on_b, on_a);
  ASSERT_TRUE(b->copies().synchronize().ok());
  ASSERT_TRUE(b->download(back.raw(), on_b.data(), 12000).ok());
  EXPECT_EQ(std::memcmp(back.raw(), x.raw(), 12000), 0);
  EXPECT_EQ(machine.driver().counts().direct_copies, 1);
}

TEST_F(CudaDevices, OtherThreadsAllocateBesideTheComputeStream) {
  const auto device = machine.device();
  constexpr std::int64_t kN = 1000;
  const Tensor ones = range(kN, 1);
  const Buffer x = device->allocator().allocate(4 * kN).value();
  ASSERT_TRUE(device->upload(x.data(), ones.raw(), 4 * kN).ok());
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) {
      const Tensor back = range(kN, 0);
      const Buffer mine = device->allocator().allocate(4 * kN).value();
      device->copies().copy(mine, ones.buffer());
      device->copies().copy(back.buffer(), mine);
      ASSERT_TRUE(device->copies().synchronize().ok());
      ASSERT_EQ(back.data<float>()[kN - 1], kN);
    }
  });
  Buffer sum = x;
  for (int i = 0; i < 50; ++i) {
    const Buffer next = device->allocator().allocate(4 * kN).value();
    ASSERT_TRUE(add(*device, kN, x, sum, next).ok());
    sum = next;
  }
  other.join();
  const Tensor back = range(kN, 0);
  ASSERT_TRUE(device->download(back.raw(), sum.data(), 4 * kN).ok());
  EXPECT_EQ(back.data<float>()[1], 102);
}

TEST_F(CudaDevices, MemoryTakenBesideTheComputeStreamDoesNotWaitForIt) {
  const auto device = machine.device();
  ASSERT_TRUE(device->stream().ok());
  Buffer held = device->allocator().allocate(1 << 20).value();
  ASSERT_TRUE(device->launch_queue()->finish().ok());
  std::atomic<bool> go = false;
  machine.driver().enqueue(core_of(*device)->compute(), "slow", [&] {
    for (int i = 0; i < 5000 && !go; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return go ? kCuSuccess : kCuLaunchFailed;
  });
  held = Buffer();  // once that is over
  std::thread other([&] {
    EXPECT_TRUE(device->allocator().allocate(1 << 20).ok());
    go = true;
  });
  other.join();
  EXPECT_TRUE(device->launch_queue()->finish().ok());
}

TEST_F(CudaDevices, SharedMemoryBeyondWhatIsAlwaysGrantedIsAskedFor) {
  const auto device = machine.device();
  const Buffer x = device->allocator().allocate(1024).value(), y = device->allocator().allocate(1024).value();
  ASSERT_TRUE(device->fill(x.data(), 4, 0, 256).ok());
  Context c{device.get()};
  EXPECT_TRUE(launch(c, {"test", "test_reverse"}, {.block = {256}, .shared_bytes = 60 << 10}, x.data(), y.data()).ok());
  EXPECT_FALSE(
      launch(c, {"test", "test_reverse"}, {.block = {256}, .shared_bytes = 100 << 10}, x.data(), y.data()).ok());
  EXPECT_FALSE(launch(c, {"test", "test_reverse"}, {.block = {1, 1, 128}}, x.data(), y.data()).ok());
}

TEST_F(CudaDevices, UnknownKernelsAndModulesAreErrors) {
  const auto device = machine.device();
  EXPECT_EQ(device->function("test", "no_such").status().code(), Code::kNotFound);
  EXPECT_EQ(device->function("other", "test_add").status().code(), Code::kNotFound);
  const Status refused = device->function_in("bad image", "/no/such/file", "test_add").status();
  EXPECT_EQ(refused.id(), "ARG-GPU-006");
  EXPECT_THAT(refused.message(), HasSubstr("error 200"));
  EXPECT_FALSE(device->knows_module("fused"));
  EXPECT_TRUE(device->function_in("fused", ARGOSY_TEST_KERNELS, "test_add").ok());
  EXPECT_TRUE(device->knows_module("fused"));
}

TEST_F(CudaDevices, WhatIsKeptGoesBeforeTheContext) {
  auto device = machine.device();
  ASSERT_TRUE(device->make_current().ok());
  int contexts_then = -1, made = 0;
  for (int i = 0; i < 2; ++i) {
    device->keep("handle", [&] {
      ++made;
      return std::shared_ptr<void>(&made, [&](void*) { contexts_then = machine.driver().contexts(0); });
    });
  }
  // Something that works with another GPU when it goes, and so comes between.
  const auto other = machine.device(1);
  device->keep("a group",
               [&] { return std::shared_ptr<void>(&made, [&](void*) { EXPECT_TRUE(other->make_current().ok()); }); });
  const CuContext mine = core_of(*device)->context();
  device->keep("b handle", [&] {
    return std::shared_ptr<void>(&made, [&, mine](void*) {
      CuContext current = nullptr;
      machine.driver().calls().cuCtxGetCurrent(&current);
      EXPECT_EQ(current, mine);
    });
  });
  ASSERT_TRUE(device->function("test", "test_add").ok());
  device.reset();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(contexts_then, 1);
}

}  // namespace

}  // namespace argosy::cuda
