#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "argosy/base/threads/parallel.h"
#include "argosy/device/device.h"

namespace argosy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> made(const DeviceRequest& request) {
  const auto devices = make_devices(request);
  if (!devices.ok()) return {devices.status().to_string()};
  std::vector<std::string> names;
  for (const auto& device : *devices) names.push_back(device->spec().name.short_string());
  return names;
}
std::vector<std::string> chosen(const DeviceRequest& request) {
  const auto specs = chosen_devices(request);
  if (!specs.ok()) return {specs.status().to_string()};
  std::vector<std::string> names;
  for (const DeviceSpec& spec : *specs) names.push_back(spec.name.short_string());
  return names;
}

TEST(Factory, WithoutAnyWishTheCpu) {
  EXPECT_THAT(made({}), ElementsAre("cpu:0"));
  EXPECT_THAT(chosen({}), ElementsAre("cpu:0"));
  const auto devices = make_devices({}).value();
  EXPECT_EQ(devices[0]->spec().name.to_string(), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(devices[0]->spec().cores, available_cores());
  EXPECT_EQ(devices[0]->spec().kind, DeviceKind::kCpu);
}

TEST(Factory, NamesAreOfTheTask) {
  const DeviceRequest request{.emulate = "2", .memory = "gpu:1=1GiB", .task = {"worker", 0, 3, "", std::nullopt}};
  const auto devices = make_devices(request).value();
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0]->spec().name.to_string(), "/job:worker/replica:0/task:3/device:CPU:0");
  EXPECT_EQ(devices[2]->spec().name.to_string(), "/job:worker/replica:0/task:3/device:GPU:1");
  EXPECT_EQ(devices[2]->spec().memory_limit_bytes, std::uint64_t{1} << 30);
  const DeviceRequest full{.devices = "/job:worker/task:3/gpu:1", .emulate = "2", .task = request.task};
  EXPECT_THAT(made(full), ElementsAre("cpu:0", "gpu:0"));
}

TEST(Factory, EveryDeviceHasAnIncarnationOfItsOwn) {
  std::set<std::uint64_t> seen{0};
  for (int time = 0; time < 2; ++time) {
    for (const auto& device : make_devices({.emulate = "2"}).value()) {
      EXPECT_TRUE(seen.insert(device->spec().incarnation).second);
    }
  }
  EXPECT_EQ(list_devices({}).value()[0].incarnation, 0u);
}

TEST(Factory, EmulatedGpusAreAllTakenByDefault) {
  const DeviceRequest request{.emulate = "gpu:1GiB@1.0,gpu:2GiB@0.5;link=12GB/s"};
  EXPECT_THAT(made(request), ElementsAre("cpu:0", "gpu:0", "gpu:1"));
  EXPECT_THAT(chosen(request), ElementsAre("gpu:0", "gpu:1"));
  const DeviceSpec spec = make_devices(request).value()[2]->spec();
  EXPECT_EQ(spec.memory_limit_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(spec.speed, 0.5);
  EXPECT_EQ(spec.link_bytes_per_second, 12e9);
  EXPECT_EQ(spec.cores, std::max(available_cores() / 2, 1));
  EXPECT_THAT(spec.description, HasSubstr("emulated GPU"));
  EXPECT_THAT(spec.description, HasSubstr("2.0 GiB, speed 0.5, link 12 GB/s"));
}

TEST(Factory, DevicesAreChosenByNameCountOrKind) {
  EXPECT_THAT(made({.devices = "gpu:0,gpu:2", .emulate = "3"}), ElementsAre("cpu:0", "gpu:0", "gpu:1"));
  EXPECT_THAT(made({.devices = "2", .emulate = "3"}), ElementsAre("cpu:0", "gpu:0", "gpu:1"));
  EXPECT_THAT(made({.devices = " cpu:0 ", .emulate = "3"}), ElementsAre("cpu:0"));
  EXPECT_THAT(made({.devices = "gpu", .emulate = "2"}), ElementsAre("cpu:0", "gpu:0", "gpu:1"));
  EXPECT_THAT(made({.devices = "cpu:0,cpu:1"}), ElementsAre("cpu:0", "cpu:1"));
  EXPECT_THAT(chosen({.devices = "gpu:0,cpu:0", .emulate = "1"}), ElementsAre("gpu:0", "cpu:0"));
  EXPECT_THAT(chosen({.cpu_devices = 3}), ElementsAre("cpu:0", "cpu:1", "cpu:2"));
  EXPECT_THAT(chosen({.devices = "1"}), ElementsAre("cpu:0"));
}

TEST(Factory, ASessionNumbersItsOwnGpus) {
  const DeviceRequest request{.devices = "gpu:1", .emulate = "gpu:1GiB,gpu:3GiB", .memory = "gpu:1=50%"};
  const auto devices = make_devices(request).value();
  EXPECT_EQ(devices[1]->spec().name.short_string(), "gpu:0");
  EXPECT_EQ(devices[1]->spec().memory_limit_bytes, std::uint64_t{3} << 29);
  EXPECT_THAT(devices[1]->spec().description, HasSubstr("the machine's gpu:1"));
}

TEST(Factory, CapsAreExactOrShares) {
  const auto specs = list_devices({.emulate = "gpu:4GiB,gpu:4GiB", .memory = "gpu:0=1GiB, gpu:1=25%"}).value();
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[1].memory_limit_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(specs[2].memory_limit_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(list_devices({.emulate = "gpu:4GiB,gpu:4GiB", .memory = "gpu=1GiB"}).value()[2].memory_limit_bytes,
            std::uint64_t{1} << 30);
}

TEST(Factory, AMissingGpuNamesEmulate) {
  for (const DeviceRequest& request : {DeviceRequest{.devices = "gpu:0"}, DeviceRequest{.devices = "2"}}) {
    const Status status = make_devices(request).status();
    EXPECT_EQ(status.code(), Code::kNotFound) << status.to_string();
    EXPECT_THAT(status.hint(), HasSubstr("--emulate")) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr("cpu:0"));
  }
  const Status status = make_devices({.devices = "gpu:0,gpu:3", .emulate = "2"}).status();
  EXPECT_THAT(status.message(), HasSubstr("gpu:3"));
  EXPECT_THAT(status.hint(), HasSubstr("--emulate 4"));
}

TEST(Factory, BadTextIsRefusedWithItsPart) {
  struct Case {
    DeviceRequest request;
    Code code;
    const char* says;
  };
  const Case cases[] = {
      {{.devices = "gpu:x"}, Code::kInvalidArgument, "gpu:x"},
      {{.devices = "gpu:0,,gpu:1", .emulate = "2"}, Code::kInvalidArgument, "empty entry"},
      {{.devices = "gpu:0,gpu:0", .emulate = "2"}, Code::kInvalidArgument, "twice"},
      {{.devices = "0"}, Code::kInvalidArgument, "at least 1"},
      {{.devices = "cpu:5000"}, Code::kNotFound, "cpu:5000"},
      {{.emulate = "-1"}, Code::kInvalidArgument, "-1"},
      {{.emulate = "100000"}, Code::kInvalidArgument, "100000"},
      {{.emulate = "two"}, Code::kInvalidArgument, "two"},
      {{.emulate = "gpu:fast"}, Code::kInvalidArgument, "gpu:fast"},
      {{.emulate = "gpu:1GiB@0"}, Code::kInvalidArgument, "above 0"},
      {{.emulate = "gpu:1GiB@2"}, Code::kInvalidArgument, "at most 1"},
      {{.emulate = "gpu:1GiB@nan"}, Code::kInvalidArgument, "nan"},
      {{.emulate = "2;link=slow"}, Code::kInvalidArgument, "link=slow"},
      {{.emulate = "2;bus=1GB/s"}, Code::kInvalidArgument, "bus=1GB/s"},
      {{.emulate = "1", .memory = "gpu:0"}, Code::kInvalidArgument, "DEVICE=SIZE"},
      {{.emulate = "1", .memory = "gpu:0=0"}, Code::kInvalidArgument, "gpu:0=0"},
      {{.emulate = "1", .memory = "gpu:0=120%"}, Code::kInvalidArgument, "120%"},
      {{.emulate = "gpu:1GiB", .memory = "gpu:0=2GiB"}, Code::kInvalidArgument, "more than the 1.0 GiB"},
      {{.emulate = "1", .memory = "gpu:1=1GiB"}, Code::kNotFound, "gpu:1=1GiB"},
      {{.cpu_devices = 0}, Code::kInvalidArgument, "CPU devices: 0"},
      {{.cpu_threads = -1}, Code::kInvalidArgument, "-1 threads"},
      {{.emulate = "1", .faults = "gpu:0:allok=3"}, Code::kInvalidArgument, "did you mean \"alloc\""},
      {{.emulate = "1", .faults = "gpu:0:lost=0"}, Code::kInvalidArgument, "count from 1"},
      {{.emulate = "1", .faults = "cpu:0:lost=1"}, Code::kInvalidArgument, "emulated GPUs"},
      {{.emulate = "1", .faults = "gpu:0"}, Code::kInvalidArgument, "gpu:N:FAULT=NUMBER"},
      {{.emulate = "1", .faults = "gpu:0:copy=2"}, Code::kInvalidArgument, "fraction"},
      {{.emulate = "1", .faults = "gpu:4:lost=1"}, Code::kNotFound, "gpu:4"},
  };
  for (const Case& c : cases) {
    const Status status = make_devices(c.request).status();
    EXPECT_EQ(status.code(), c.code) << c.says << ": " << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(c.says));
  }
}

TEST(Factory, TheEnvironmentStandsInForWhatIsLeftOut) {
  setenv("ARGOSY_EMULATE", "2", 1);
  EXPECT_THAT(chosen({}), ElementsAre("gpu:0", "gpu:1"));
  EXPECT_THAT(chosen({.emulate = "1"}), ElementsAre("gpu:0"));
  EXPECT_THAT(chosen({.emulate = "0"}), ElementsAre("cpu:0"));
  unsetenv("ARGOSY_EMULATE");
}

}  // namespace
}  // namespace argosy
