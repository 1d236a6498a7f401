#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/threads/test_thread_counts.h"
#include "argosy/device/device.h"
#include "argosy/device/event.h"
#include "argosy/device/null/null_device.h"

namespace argosy {
namespace {

std::vector<std::unique_ptr<Device>> emulate(std::string what, std::string faults = "") {
  return make_devices({.emulate = std::move(what), .faults = std::move(faults)}).value();
}

// Of streams. A thread that was joined is listed for a moment longer.
int stream_threads() {
  return threads_that([](const std::string& name) { return name.starts_with("gpu:") || name.starts_with("cpu:"); });
}

TEST(EmulatedGpu, CopiesThereAndBackAcrossDevices) {
  const auto devices = emulate("gpu:64MiB,gpu:64MiB");
  constexpr std::size_t kBytes = 5 << 20;
  const Buffer host = devices[0]->allocator().allocate(kBytes).value();
  const Buffer first = devices[1]->allocator().allocate(kBytes).value();
  const Buffer second = devices[2]->allocator().allocate(kBytes).value();
  const Buffer back = devices[0]->allocator().allocate(kBytes).value();
  std::memset(host.data(), 42, kBytes);
  devices[1]->copies().copy(first, host);
  devices[2]->copies().wait(devices[1]->copies().record());
  devices[2]->copies().copy(second, first);
  devices[0]->copies().wait(devices[2]->copies().record());
  devices[0]->copies().copy(back, second);
  ASSERT_TRUE(devices[0]->synchronize().ok());
  EXPECT_EQ(std::memcmp(back.data(), host.data(), kBytes), 0);
}

TEST(EmulatedGpu, ItsMemoryIsCappedAndItsOwn) {
  const auto devices = emulate("gpu:8MiB,gpu:8MiB");
  const Buffer held = devices[1]->allocator().allocate(8 << 20).value();
  const Status refused = devices[1]->allocator().allocate(1).status();
  EXPECT_EQ(refused.id(), "ARG-MEM-001");
  EXPECT_NE(refused.message().find("gpu:0"), std::string::npos) << refused.to_string();
  EXPECT_TRUE(devices[2]->allocator().allocate(8 << 20).ok());
}

TEST(EmulatedGpu, ADeviceNobodyUsesTakesNoThread) {
  ASSERT_TRUE(eventually([] { return stream_threads() == 0; })) << "those of the tests before";
  const auto devices = emulate("8");
  EXPECT_EQ(stream_threads(), 0);
  devices[3]->compute().run([] {});
  ASSERT_TRUE(devices[3]->synchronize().ok());
  EXPECT_EQ(stream_threads(), 1);
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

TEST(EmulatedGpu, ClosingGivesEverythingBack) {
  const auto session = [] {
    const auto devices = emulate("gpu:64MiB,gpu:64MiB");
    const Buffer device = devices[1]->allocator().allocate(1 << 20).value();
    const Buffer host = devices[0]->allocator().allocate(1 << 20).value();
    std::memset(host.data(), 1, host.bytes());
    devices[1]->copies().copy(device, host);
    ASSERT_TRUE(devices[1]->synchronize().ok());
    const Buffer small = devices[1]->allocator().allocate(100).value();
    std::memset(small.data(), 1, small.bytes());
  };
  for (int i = 0; i < 50; ++i) session();
  const long before = resident_kib();
  for (int i = 0; i < 500; ++i) session();
  EXPECT_TRUE(eventually([] { return stream_threads() == 0; }));
  if (!kSanitized) {
    EXPECT_LT(resident_kib(), before + 256);
  }
}

TEST(EmulatedGpu, HalfTheSpeedTakesTwiceTheTime) {
  const auto devices = emulate("gpu@0.5,gpu");
  EXPECT_EQ(devices[2]->observer(), nullptr) << "a plain device pays nothing";
  KernelObserver* observer = devices[1]->observer();
  ASSERT_NE(observer, nullptr);
  const std::int64_t start = now_nanos();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(observer->before("kernel").ok());
    observer->after("kernel", 20'000);
  }
  const double seconds = seconds_since(start);
  EXPECT_GT(seconds, 0.019);
  EXPECT_LT(seconds, 0.2);
}

TEST(EmulatedGpu, TheLinkSetsTheSpeedOfCopies) {
  const auto devices = emulate("gpu:64MiB;link=100MB/s");
  const Buffer host = devices[0]->allocator().allocate(2'000'000).value();
  const Buffer device = devices[1]->allocator().allocate(2'000'000).value();
  const std::int64_t start = now_nanos();
  devices[1]->copies().copy(device, host);
  devices[1]->communication().copy(host, device);  // one link: one after the other
  ASSERT_TRUE(devices[1]->synchronize().ok());
  EXPECT_GT(seconds_since(start), 0.0395);
  EXPECT_LT(seconds_since(start), 0.4);
}

TEST(EmulatedGpu, TheNthAllocationFailsAndTheNextWorks) {
  const auto devices = emulate("1", "gpu:0:alloc=3");
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(devices[1]->allocator().allocate(64).ok(), i != 3);
}

TEST(EmulatedGpu, ALostDeviceStaysLost) {
  const auto devices = emulate("2", "gpu:1:lost=3");
  EXPECT_EQ(devices[1]->observer(), nullptr);
  KernelObserver& observer = *devices[2]->observer();
  EXPECT_TRUE(observer.before("a").ok());
  EXPECT_TRUE(observer.before("b").ok());
  const Status lost = observer.before("c");
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_EQ(lost.to_string(),
            "UNAVAILABLE [ARG-DEV-003] device lost at kernel 3 (injected fault) (node 'c' on "
            "/job:localhost/replica:0/task:0/device:GPU:1)\n"
            "  try: open a new session without this device and go on from the last checkpoint: --resume");
  EXPECT_EQ(observer.before("d").code(), Code::kUnavailable);
  std::byte memory[16];
  devices[2]->copies().copy(Buffer::borrow(memory, 8), Buffer::borrow(memory + 8, 8));
  EXPECT_EQ(devices[2]->synchronize().code(), Code::kUnavailable);
}

TEST(EmulatedGpu, AHungKernelEndsWithItsStep) {
  const auto devices = emulate("1", "gpu:0:hang=1");
  Cancellation step;
  Status status;
  devices[1]->compute().run([&] { status = devices[1]->observer()->before("slow", &step); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  step.cancel(deadline_exceeded("step deadline"));
  ASSERT_TRUE(devices[1]->synchronize().ok());
  EXPECT_EQ(status.message(), "step deadline");
  EXPECT_TRUE(devices[1]->observer()->before("after").ok());
}

TEST(EmulatedGpu, AHungKernelDoesNotKeepItsSessionFromClosing) {
  Status status;
  {
    auto devices = emulate("2", "gpu:1:hang=1");
    devices[2]->compute().run([&, device = devices[2].get()] { status = device->observer()->before("slow"); });
    // gpu:0, which goes first, waits for what hangs on gpu:1.
    devices[1]->compute().wait(devices[2]->compute().record());
    devices[1]->compute().run([] {});
  }
  EXPECT_EQ(status.code(), Code::kAborted);
  EXPECT_NE(status.message().find("never completed"), std::string::npos);
}

TEST(EmulatedGpu, ACopyFaultSlowsOneDevice) {
  const auto devices = emulate("gpu:64MiB,gpu:64MiB;link=100MB/s", "gpu:1:copy=0.1");
  const Buffer host = devices[0]->allocator().allocate(500'000).value();
  const Buffer device = devices[2]->allocator().allocate(500'000).value();
  const std::int64_t start = now_nanos();
  devices[2]->copies().copy(device, host);
  ASSERT_TRUE(devices[2]->synchronize().ok());
  EXPECT_GT(seconds_since(start), 0.0495);
}

TEST(NullDevice, CountsMemoryItDoesNotHave) {
  DeviceSpec spec;
  spec.name = *DeviceName::parse("gpu:0");
  spec.memory_limit_bytes = std::uint64_t{80} << 30;
  NullDevice device(spec);
  EXPECT_EQ(device.spec().kind, DeviceKind::kNull);
  EXPECT_EQ(device.kernel_kind(), "null");
  {
    const Buffer large = device.allocator().allocate(std::size_t{60} << 30).value();
    EXPECT_EQ(large.data()[123456789], std::byte(0));
    EXPECT_EQ(device.allocator().allocate(std::size_t{30} << 30).status().id(), "ARG-MEM-001");
    EXPECT_EQ(device.allocator().stats().in_use_bytes, std::uint64_t{60} << 30);
    const Buffer shape = device.allocator().allocate(16).value();
    std::memset(shape.data(), 1, 16);
  }
  EXPECT_EQ(device.allocator().stats().in_use_bytes, 0u);
}

TEST(NullDevice, ItsClockMovesByCostAlone) {
  DeviceSpec spec;
  spec.name = *DeviceName::parse("gpu:0");
  spec.link_bytes_per_second = 1e9;
  NullDevice told(spec);
  told.observer()->after("matmul", 500);
  EXPECT_EQ(told.clock().now_nanos(), 500);
  NullDevice modelled(spec, [](std::string_view node) { return node == "matmul" ? 1'000'000 : 10; });
  modelled.observer()->after("matmul", 3);
  modelled.observer()->after("relu", 3);
  EXPECT_EQ(modelled.clock().now_nanos(), 1'000'010);
  const Buffer from = modelled.allocator().allocate(1 << 20).value();
  modelled.copies().copy(modelled.allocator().allocate(1 << 20).value(), from);
  ASSERT_TRUE(modelled.synchronize().ok());
  EXPECT_EQ(modelled.link_clock().now_nanos(), 1'048'576);
}

}  // namespace
}  // namespace argosy
