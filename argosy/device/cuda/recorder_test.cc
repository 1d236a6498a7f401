#include "argosy/device/recorder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "argosy/device/cuda/fake/machine.h"
#include "argosy/device/cuda/launch.h"

namespace argosy::cuda {

namespace {

const ModuleImage kImages[] = {{"test", ARGOSY_TEST_KERNELS}};
constexpr std::int64_t kN = 256;

struct Context {
  CudaDevice* on;
  CudaDevice* device() { return on; }
  std::string_view node() const { return "add"; }
};

struct Recorders : testing::Test {
  Recorders() {
    x = device->allocator().allocate(4 * kN).value();
    y = device->allocator().allocate(4 * kN).value();
    std::vector<float> ones(kN, 1);
    EXPECT_TRUE(device->upload(x.data(), ones.data(), 4 * kN).ok());
    EXPECT_TRUE(device->fill(y.data(), 4, 0, kN).ok());
  }
  Recorder& recorder() { return dynamic_cast<Recorder&>(*device->launches()); }
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

  fake::Machine machine{{}, {.modules = kImages}};
  std::unique_ptr<CudaDevice> device = machine.device();
  Buffer x, y;
  void TearDown() override { x = y = Buffer(); }
};

TEST_F(Recorders, WhatIsRecordedIsDoneWhenItIsRepeatedAndNotBefore) {
  ASSERT_TRUE(recorder().begin().ok());
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(add().ok());
  auto recording = recorder().end(nullptr);
  ASSERT_TRUE(recording.ok()) << recording.status().to_string();
  EXPECT_EQ(first(), 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(recorder().repeat(**recording).ok());
  EXPECT_EQ(first(), 10);
  EXPECT_EQ(machine.cards().counts().graph_launches, 5);
  EXPECT_EQ(machine.cards().counts().launch_calls, 0);
}

TEST_F(Recorders, MemoryOfARecordingIsNobodyElses) {
  ASSERT_TRUE(recorder().begin().ok());
  ASSERT_TRUE(add().ok());
  auto recording = recorder().end(nullptr);
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(device->allocator().stats().in_use_bytes, 3U * 4 * kN);  // x, y, and what add() came and went with
  const Buffer other = device->allocator().allocate(4 * kN).value();
  ASSERT_TRUE(device->fill(other.data(), 4, 7, kN).ok());
  ASSERT_TRUE(recorder().repeat(**recording).ok());
  std::vector<std::uint32_t> back(kN);
  ASSERT_TRUE(device->download(back.data(), other.data(), 4 * kN).ok());
  EXPECT_EQ(back, std::vector<std::uint32_t>(kN, 7));
  recording->reset();
  EXPECT_EQ(device->allocator().stats().in_use_bytes, 3U * 4 * kN);
}

TEST_F(Recorders, ARecordingOfTheSameFormIsUpdatedNotMadeAgain) {
  std::unique_ptr<Recording> recording;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(recorder().begin().ok());
    ASSERT_TRUE(add().ok());
    if (round == 2) {  // another form
      ASSERT_TRUE(add().ok());
    }
    auto made = recorder().end(std::move(recording));
    ASSERT_TRUE(made.ok());
    recording = *std::move(made);
    ASSERT_TRUE(recorder().repeat(*recording).ok());
  }
  EXPECT_EQ(first(), 4);
  EXPECT_EQ(machine.cards().counts().graphs_made, 2);
  EXPECT_EQ(machine.cards().counts().graphs_updated, 1);
}

TEST_F(Recorders, GivingUpLeavesTheDeviceAsItWas) {
  ASSERT_TRUE(recorder().begin().ok());
  ASSERT_TRUE(add().ok());
  recorder().give_up();
  EXPECT_EQ(first(), 0);
  ASSERT_TRUE(add().ok());
  EXPECT_EQ(first(), 1);
}

TEST_F(Recorders, ARecordingBeyondTheCapSaysSo) {
  const Buffer rest = device->allocator().allocate((std::uint64_t{64} << 20) - 3 * 4 * kN).value();
  ASSERT_TRUE(recorder().begin().ok());
  { const Buffer a = device->allocator().allocate(2 * kN).value(); }  // both fit, one after the other ...
  { const Buffer b = device->allocator().allocate(4 * kN).value(); }
  auto recording = recorder().end(nullptr);  // ... but a recording keeps both
  ASSERT_TRUE(recording.ok());
  EXPECT_FALSE((*recording)->fits());
  recording->reset();
  EXPECT_TRUE(add().ok());
}

}  // namespace

}  // namespace argosy::cuda
