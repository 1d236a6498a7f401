#include <gmock/gmock.h>

#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/device/cuda/fake/fake_driver_machine.h"
#include "argosy/device/cuda/kernels/launch.h"

namespace argosy::cuda {

namespace {

using testing::HasSubstr;

const ModuleImage kImages[] = {{"test", ARGOSY_TEST_KERNELS}};

struct Context {
  CudaDevice* on;
  CudaDevice* device() { return on; }
  std::string_view node() const { return "reverse"; }
};

Status reverse(CudaDevice& device, const Buffer& x, const Buffer& y) {
  Context c{&device};
  return launch(c, {"test", "test_reverse"}, {.grid = {}, .block = {256}}, x.data(), y.data());
}

// Starts one kernel; what it and the wait for it say.
Status one_step(CudaDevice& device, Cancellation* cancellation = nullptr) {
  ARGOSY_ASSIGN_OR_RETURN(const Buffer x, device.allocator().allocate(1024));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer y, device.allocator().allocate(1024));
  ARGOSY_RETURN_IF_ERROR(reverse(device, x, y));
  return device.launch_queue()->finish(cancellation);
}

TEST(CudaDriver, TooOldMissingAndLostAreThreeDifferentErrors) {
  std::string ids;
  {
    fake::FakeDriver fake_driver({.version = 11080});
    const auto driver = Driver::over(fake_driver.calls());
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.status().id(), "ARG-GPU-004");
    EXPECT_THAT(driver.status().message(), HasSubstr("11.8"));
  }
  {
    fake::FakeDriver fake_driver({.init = kCuSystemDriverMismatch});
    const auto driver = Driver::over(fake_driver.calls());
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.status().id(), "ARG-GPU-005");
    EXPECT_THAT(driver.status().message(), HasSubstr("803"));
    EXPECT_THAT(driver.status().message(), HasSubstr("kernel module"));
  }
  {
    fake::Machine machine({}, {.modules = kImages});
    const auto device = machine.device();
    machine.driver().fail_launch(2);
    EXPECT_TRUE(one_step(*device).ok());
    const Status lost = one_step(*device);
    EXPECT_EQ(lost.id(), "ARG-DEV-003");
    EXPECT_EQ(lost.code(), Code::kUnavailable);
    EXPECT_THAT(lost.message(), HasSubstr("719"));  // the driver's own number
  }
}

TEST(CudaFaults, ALostGpuStaysLostAndOthersGoOn) {
  fake::Machine machine({.gpus = {{}, {}}}, {.modules = kImages});
  const auto a = machine.device(0), b = machine.device(1);
  EXPECT_TRUE(one_step(*a).ok());
  machine.driver().lose(0);
  for (int i = 0; i < 3; ++i) {
    const Status lost = one_step(*a);
    EXPECT_EQ(lost.id(), "ARG-DEV-003") << lost.to_string();
  }
  EXPECT_TRUE(one_step(*b).ok());
}

TEST(CudaFaults, EveryAllocationMayFailOnce) {
  fake::Machine machine({}, {.modules = kImages});
  for (std::int64_t n = 1; n <= 2; ++n) {
    const auto device = machine.device(0, std::uint64_t{64} << 20, {.fail_allocation = n});
    const Status failed = one_step(*device);
    EXPECT_EQ(failed.code(), Code::kResourceExhausted);
    EXPECT_TRUE(one_step(*device).ok());
    EXPECT_EQ(device->allocator().stats().in_use_bytes, 0U);
  }
}

TEST(CudaFaults, ADriverThatRefusesMemoryOnceIsAskedAgain) {
  fake::Machine machine({}, {.modules = kImages});
  const auto device = machine.device();
  machine.driver().fail_allocation(2);
  EXPECT_TRUE(one_step(*device).ok());
}

TEST(CudaFaults, AKernelThatDoesNotEndIsLeftAfterCancellation) {
  fake::Machine machine({}, {.modules = kImages, .grace = std::chrono::seconds(1)});
  const auto device = machine.device();
  EXPECT_TRUE(one_step(*device).ok());
  machine.driver().hang_launch(1);
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancellation.cancel(deadline_exceeded("50 ms are over"));
  });
  const std::int64_t start = now_nanos();
  const Status hung = one_step(*device, &cancellation);
  const std::int64_t took = now_nanos() - start;
  canceller.join();
  EXPECT_EQ(hung.id(), "ARG-DEV-004") << hung.to_string();
  EXPECT_THAT(hung.message(), HasSubstr("50 ms are over"));
  EXPECT_LT(took, 3'000'000'000);
  // Nobody gets memory that the kernel may still write.
  EXPECT_EQ(one_step(*device).id(), "ARG-DEV-004");
  machine.driver().end_hang();
}

// A queue of kernels may be seconds deep when its step is cancelled: the device is not lost for that.
TEST(CudaFaults, AKernelMayTakeSomeSecondsAfterACancellation) {
  fake::Machine machine({}, {.modules = kImages});
  const auto device = machine.device();
  machine.driver().hang_launch(1);
  Cancellation cancellation;
  cancellation.cancel(deadline_exceeded("0 ms are over"));
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    machine.driver().end_hang();
  });
  EXPECT_NE(one_step(*device, &cancellation).id(), "ARG-DEV-004");
  ends.join();
  EXPECT_TRUE(one_step(*device).ok());
}

TEST(CudaFaults, ADeviceThatHangsCanBeClosed) {
  const LeaksOnPurpose held;
  fake::Machine machine({}, {.modules = kImages, .grace = std::chrono::seconds(1)});
  machine.expect_left_behind();
  auto device = machine.device();
  machine.driver().hang_launch(1);
  Cancellation cancellation;
  cancellation.cancel(deadline_exceeded("0 ms are over"));
  EXPECT_EQ(one_step(*device, &cancellation).id(), "ARG-DEV-004");
  const std::int64_t start = now_nanos();
  device.reset();
  EXPECT_LT(now_nanos() - start, 10'000'000'000);
}

TEST(CudaFaults, TheShimOfEmulatedGpusWorksOnRealOnesToo) {
  fake::Machine machine;
  const auto device = machine.device(0, std::uint64_t{64} << 20, {.lost_at_kernel = 2});
  ASSERT_NE(device->observer(), nullptr);
  EXPECT_TRUE(device->observer()->before("a").ok());
  EXPECT_EQ(device->observer()->before("b").id(), "ARG-DEV-003");
  EXPECT_EQ(machine.device()->observer(), nullptr);
}

TEST(CudaFaults, AGpuThatIsTakenIsNotLost) {
  {
    fake::Machine machine({.contexts = kCuDeviceUnavailable});
    const Status taken = machine.device()->allocator().allocate(10).status();
    EXPECT_EQ(taken.id(), "ARG-GPU-015");
    EXPECT_THAT(taken.message(), HasSubstr("exclusive"));
  }
  fake::Machine machine({.contexts = kCuOutOfMemory});
  const Status full = machine.device()->allocator().allocate(10).status();
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("context"));
}

TEST(CudaFaults, WhatBreaksAContextIsADeviceLostAndWhatDoesNotIsNot) {
  for (const CuResult broken : {kCuNvlinkUncorrectable, kCuContained, kCuTensorMemoryLeak, kCuMpsClientTerminated,
                                kCuExternalDevice, kCuIllegalAddress, kCuAssert}) {
    EXPECT_TRUE(Driver::breaks_context(broken)) << broken;
  }
  for (const CuResult passing : {kCuDeviceUnavailable, kCuLaunchOutOfResources, kCuInvalidImage, kCuOutOfMemory,
                                 kCuCaptureInvalidated, kCuNotReady}) {
    EXPECT_FALSE(Driver::breaks_context(passing)) << passing;
  }
}

TEST(CudaDriver, WhyItDoesNotStartAndWhatToDo) {
  for (const auto& [result, why] : {std::pair<CuResult, const char*>{kCuOperatingSystem, "/dev/nvidia"},
                                    {kCuCompatNotSupported, "cuda-compat"},
                                    {kCuMpsConnectionFailed, "mps-control"},
                                    {kCuUnknown, "nvidia-uvm"}}) {
    fake::FakeDriver fake_driver({.init = result});
    const auto driver = Driver::over(fake_driver.calls());
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.status().id(), "ARG-GPU-005");
    EXPECT_THAT(driver.status().hint(), HasSubstr(why));
  }
}

TEST(CudaFaults, AGpuWithoutPoolsSaysSo) {
  fake::Machine machine({.pools = false});
  const auto device = machine.device();
  EXPECT_EQ(device->allocator().allocate(10).status().id(), "ARG-GPU-007");
  EXPECT_EQ(device->allocator().allocate(10).status().id(), "ARG-GPU-007");
}

#if defined(ARGOSY_ASAN)
// One number beyond an allocation is another allocation's only on a GPU; here the address sanitizer knows it.
TEST(CudaFaultsDeathTest, MemoryBeyondAnAllocationIsPoisoned) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto copy = [](long long n) {
    fake::Machine machine({}, {.modules = kImages});
    const auto device = machine.device();
    const Buffer x = device->allocator().allocate(1024).value(), y = device->allocator().allocate(1024).value();
    Context c{device.get()};
    EXPECT_TRUE(launch(c, {"test", "test_copy_one_more"}, grid_for(n), n, x.data(), y.data()).ok());
    EXPECT_TRUE(device->launch_queue()->finish(nullptr).ok());
  };
  copy(255);
  EXPECT_DEATH(copy(256), "use-after-poison");
}
#else  // whose builds have no kernels to watch
TEST(CudaFaults, WhatAWatchedKernelDoesWrongIsAViolation) {
  fake::FakeDriver fake_driver({.ways = {.watch = true}});
  const auto backend =
      std::make_shared<CudaBackend>(fake_driver.driver(), CudaBackend::Options{.modules = std::span(kImages)});
  DeviceSpec spec;
  spec.name = {"localhost", 0, 0, "GPU", 0};
  spec.kind = DeviceKind::kCuda;
  spec.physical_gpu = 0;
  spec.memory_limit_bytes = std::uint64_t{1} << 20;
  const auto made = backend->make(std::move(spec), {}, {}, nullptr).value();
  auto& device = static_cast<CudaDevice&>(*made);
  const auto count = [&](const char* kernel, std::size_t bytes) {
    const Buffer x = device.allocator().allocate(bytes).value(), y = device.allocator().allocate(1024).value();
    Context c{&device};
    EXPECT_TRUE(launch(c, {"test", kernel}, {.grid = {}, .block = {256}}, x.data(), y.data()).ok());
    EXPECT_TRUE(device.launch_queue()->finish(nullptr).ok());
    return fake_driver.violations().size();
  };
  EXPECT_EQ(count("test_reverse", 1024), 0u);
  const std::size_t races = count("test_reverse_at_once", 1024);
  EXPECT_GT(races, 0u);
  EXPECT_GT(count("test_reverse", 1020), races);
  EXPECT_THAT(fake_driver.violations(), testing::Contains(HasSubstr("test_reverse: thread 255 of block 0 reads 4 B")));
}
#endif

}  // namespace

}  // namespace argosy::cuda
