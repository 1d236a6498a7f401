#include "argosy/device/graph_capturer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "argosy/device/cuda/fake/fake_driver_machine.h"
#include "argosy/device/cuda/kernels/launch.h"

namespace argosy::cuda {

namespace {

const ModuleImage kImages[] = {{"test", ARGOSY_TEST_KERNELS}};
constexpr std::int64_t kN = 256;

struct Context {
  CudaDevice* on;
  CudaDevice* device() { return on; }
  std::string_view node() const { return "add"; }
};

struct GraphCapture : testing::Test {
  GraphCapture() {
    x = device->allocator().allocate(4 * kN).value();
    y = device->allocator().allocate(4 * kN).value();
    std::vector<float> ones(kN, 1);
    EXPECT_TRUE(device->upload(x.data(), ones.data(), 4 * kN).ok());
    EXPECT_TRUE(device->fill(y.data(), 4, 0, kN).ok());
  }
  GraphCapturer& capturer() { return dynamic_cast<GraphCapturer&>(*device->launch_queue()); }
  // y += x, by way of memory that comes and goes.
  Status add() {
    ARGOSY_ASSIGN_OR_RETURN(const Buffer sum, device->allocator().allocate(4 * kN));
    Context c{device.get()};
    ARGOSY_RETURN_IF_ERROR(
        launch(c, {"test", "test_add"}, grid_for(kN), static_cast<long long>(kN), x.data(), y.data(), sum.data()));
    return device->copy(y.data(), sum.data(), 4 * kN);
  }
  float first() {
    std::vector<float> back(kN);
    EXPECT_TRUE(device->download(back.data(), y.data(), 4 * kN).ok());
    for (const float v : back) EXPECT_EQ(v, back[0]);
    return back[0];
  }

  fake::Machine machine{{.gpus = {{}, {}}}, {.modules = kImages}};
  std::unique_ptr<CudaDevice> device = machine.device();
  Buffer x, y;
  void TearDown() override { x = y = Buffer(); }
};

TEST_F(GraphCapture, WhatIsRecordedIsDoneWhenItIsRepeatedAndNotBefore) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(add().ok());
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok()) << captured.status().to_string();
  EXPECT_EQ(first(), 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(capturer().replay(**captured).ok());
  EXPECT_EQ(first(), 10);
  EXPECT_EQ(machine.driver().counts().graph_launches, 5);
  EXPECT_EQ(machine.driver().counts().launch_calls, 0);
}

TEST_F(GraphCapture, MemoryOfARecordingIsNobodyElses) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok());
  EXPECT_EQ(device->allocator().stats().in_use_bytes, 3U * 4 * kN);  // x, y, and what add() came and went with
  const Buffer other = device->allocator().allocate(4 * kN).value();
  ASSERT_TRUE(device->fill(other.data(), 4, 7, kN).ok());
  ASSERT_TRUE(capturer().replay(**captured).ok());
  std::vector<std::uint32_t> back(kN);
  ASSERT_TRUE(device->download(back.data(), other.data(), 4 * kN).ok());
  EXPECT_EQ(back, std::vector<std::uint32_t>(kN, 7));
  captured->reset();
  EXPECT_EQ(device->allocator().stats().in_use_bytes, 3U * 4 * kN);
}

TEST_F(GraphCapture, WhatIsFreedDuringARecordingIsReadByItsFirstReplay) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  x = Buffer();
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok());
  std::vector<Buffer> others;  // none of them is where x was
  for (int i = 0; i < 8; ++i) {
    others.push_back(device->allocator().allocate(4 * kN).value());
    ASSERT_TRUE(device->fill(others.back().data(), 4, 7, kN).ok());
  }
  ASSERT_TRUE(capturer().replay(**captured).ok());
  EXPECT_EQ(first(), 1);
  EXPECT_EQ(device->allocator().stats().in_use_bytes, 10U * 4 * kN);  // y, the others, and what add() came and went with
}

TEST_F(GraphCapture, ARecordingOfTheSameFormIsUpdatedNotMadeAgain) {
  std::unique_ptr<CapturedGraph> captured;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(capturer().begin().ok());
    ASSERT_TRUE(add().ok());
    if (round == 2) {  // another form
      ASSERT_TRUE(add().ok());
    }
    auto made = capturer().end(std::move(captured));
    ASSERT_TRUE(made.ok());
    captured = *std::move(made);
    ASSERT_TRUE(capturer().replay(*captured).ok());
  }
  EXPECT_EQ(first(), 4);
  EXPECT_EQ(machine.driver().counts().graphs_made, 2);
  EXPECT_EQ(machine.driver().counts().graphs_updated, 1);
}

TEST_F(GraphCapture, GivingUpLeavesTheDeviceAsItWas) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  capturer().abort_capture();
  EXPECT_EQ(first(), 0);
  ASSERT_TRUE(add().ok());
  EXPECT_EQ(first(), 1);
}

TEST_F(GraphCapture, OtherThreadsNeitherDisturbARecordingNorWaitForItsEnd) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  auto last = capturer().end(nullptr);
  ASSERT_TRUE(last.ok());
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  const auto other = [](const auto& work) { std::thread([&] { EXPECT_EQ(work().to_string(), "OK"); }).join(); };
  std::vector<float> back(kN);
  const Buffer here = device->allocator().allocate(4 * kN).value();
  other([&] { return device->download(back.data(), x.data(), 4 * kN); });
  other([&] { return device->launch_queue()->copy_in(here, x).status(); });
  other([&] { return device->upload(here.data(), back.data(), 4 * kN); });
  other([&] { return device->launch_queue()->finish(); });
  other([&] { return device->allocator().trim(), ok_status(); });
  other([&] { return device->allocator().copy_within(here.data(), x.data(), 4 * kN); });
  other([&] { return last->reset(), ok_status(); });
  EXPECT_EQ(back[0], 1);
  ASSERT_TRUE(add().ok());
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok()) << captured.status().to_string();
  ASSERT_TRUE(capturer().replay(**captured).ok());
  EXPECT_EQ(first(), 2);
}

TEST_F(GraphCapture, AWaitWithinARecordingIsRefusedAndLosesNothingElse) {
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  std::vector<float> host(kN);
  EXPECT_EQ(device->download(host.data(), x.data(), 4 * kN).code(), Code::kInternal);
  EXPECT_EQ(device->launch_queue()->record().status().code(), Code::kInternal);
  EXPECT_EQ(device->launch_queue()->finish().code(), Code::kInternal);
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok()) << captured.status().to_string();
  ASSERT_TRUE(capturer().replay(**captured).ok());
  EXPECT_EQ(first(), 1);
}

TEST_F(GraphCapture, AnotherGpusFirstCopyFromHereDoesNotDisturbARecording) {
  const auto other = machine.device(1);
  const Buffer there = other->allocator().allocate(4 * kN).value();
  ASSERT_TRUE(other->launch_queue()->wait(device->launch_queue()->record().value()).ok());
  ASSERT_TRUE(capturer().begin().ok());
  ASSERT_TRUE(add().ok());
  const auto copied = other->launch_queue()->copy_in(there, x);
  ASSERT_TRUE(copied.ok()) << copied.status().to_string();
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok()) << captured.status().to_string();
  EXPECT_TRUE(other->launch_queue()->finish().ok());
}

TEST_F(GraphCapture, ARecordingMayGoWhileItIsAtWork) {
  ASSERT_TRUE(capturer().begin().ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(add().ok());
  auto captured = capturer().end(nullptr);
  ASSERT_TRUE(captured.ok());
  const std::int64_t waits = machine.driver().counts().host_waits;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(capturer().replay(**captured).ok());
  captured->reset();
  EXPECT_EQ(machine.driver().counts().host_waits, waits);
  EXPECT_EQ(first(), 100);
}

TEST_F(GraphCapture, ARecordingBeyondTheCapSaysSo) {
  const Buffer rest = device->allocator().allocate((std::uint64_t{64} << 20) - 3 * 4 * kN).value();
  ASSERT_TRUE(capturer().begin().ok());
  { const Buffer a = device->allocator().allocate(2 * kN).value(); }  // both fit, one after the other ...
  { const Buffer b = device->allocator().allocate(4 * kN).value(); }
  auto captured = capturer().end(nullptr);  // ... but a captured graph keeps both
  ASSERT_TRUE(captured.ok());
  EXPECT_FALSE((*captured)->fits());
  captured->reset();
  EXPECT_TRUE(add().ok());
}

}  // namespace

}  // namespace argosy::cuda
