#include "argosy/device/cuda/cuda_backend.h"

#include <gmock/gmock.h>

#include "argosy/device/cuda/fake/fake_driver_machine.h"
#include "argosy/device/gpu_discovery.h"

namespace argosy::cuda {

namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::vector<std::string> names(const std::vector<DeviceSpec>& specs) {
  std::vector<std::string> list;
  for (const DeviceSpec& spec : specs) list.push_back(spec.name.short_string());
  return list;
}

TEST(CudaBackend, GpusAreNumberedByTheirPciAddressAsInNvidiaSmi) {
  fake::Machine machine({.gpus = {{.name = "Fast", .pci = "0000:81:00.0"}, {.name = "Slow", .pci = "0000:3b:00.0"}}});
  const auto gpus = machine.backend()->gpus().value();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "Slow");
  EXPECT_EQ(gpus[0].number, 0);
  EXPECT_EQ(gpus[1].name, "Fast");
  EXPECT_EQ(gpus[0].uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_THAT(gpus[0].links, testing::ElementsAre("gpu:1 direct"));
  EXPECT_EQ(machine.driver().contexts(0) + machine.driver().contexts(1), 0);
}

TEST(CudaBackend, MigInstancesHaveTheirOwnKindOfName) {
  fake::Machine machine({.gpus = {{.name = "NVIDIA H100 MIG 1g.10gb"}, {}}});
  const auto gpus = machine.backend()->gpus().value();
  EXPECT_TRUE(gpus[0].uuid.starts_with("MIG-")) << gpus[0].uuid;
  EXPECT_TRUE(gpus[1].uuid.starts_with("GPU-")) << gpus[1].uuid;
}

TEST(CudaBackend, GpusThatAreTooOldAreLeftOutAndSayWhy) {
  fake::Machine machine({.gpus = {{.name = "GTX 980", .major = 5, .minor = 2}, {}}},
                        {.oldest_major = 7, .oldest_minor = 5});
  const auto devices = list_devices(machine.request()).value();
  EXPECT_THAT(names(devices), testing::ElementsAre("cpu:0", "gpu:0"));
  EXPECT_EQ(devices[1].physical_gpu, 1);
  const auto two = make_devices(machine.request("gpu:0,gpu:1"));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.status().id(), "ARG-GPU-006");
  EXPECT_THAT(two.status().message(), HasSubstr("compute capability 5.2"));
}

TEST(CudaBackend, VirtualGpusShareAPhysicalGpusMemory) {
  fake::Machine machine({.gpus = {{.memory_bytes = 8 * kGiB}, {.memory_bytes = 8 * kGiB}}});
  DeviceRequest request = machine.request();
  const auto plain = list_devices(request).value();
  ASSERT_THAT(names(plain), testing::ElementsAre("cpu:0", "gpu:0", "gpu:1"));
  request.virtual_gpus = "1:4";
  const auto shared = list_devices(request).value();
  ASSERT_EQ(shared.size(), 6U);
  EXPECT_EQ(shared[1].memory_limit_bytes, plain[1].memory_limit_bytes);
  EXPECT_EQ(shared[5].memory_limit_bytes, plain[2].memory_limit_bytes / 4);
  EXPECT_EQ(shared[5].physical_gpu, 1);
  EXPECT_THAT(shared[5].description, HasSubstr("virtual GPU 4 of 4"));
  for (const char* bad : {"0", "x", "2:2", "0:65", "0:", ":2", "1,,2"}) {
    request.virtual_gpus = bad;
    const auto refused = list_devices(request);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.status().id(), "ARG-DEV-002") << bad;
  }
}

TEST(CudaBackend, SessionsGetTheGpusTheyAskFor) {
  fake::Machine machine({.gpus = {{}, {}}});
  const auto devices = make_devices(machine.request("gpu:1")).value();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1]->spec().kind, DeviceKind::kCuda);
  EXPECT_EQ(devices[1]->spec().name.short_string(), "gpu:0");
  EXPECT_THAT(devices[1]->spec().description, HasSubstr("the machine's gpu:1"));
  EXPECT_EQ(devices[1]->kernel_kind(), "cuda");
  (void)devices[1]->allocator().allocate(10).value();
  EXPECT_EQ(machine.driver().contexts(0), 0);
  EXPECT_EQ(machine.driver().contexts(1), 1);
  EXPECT_EQ(make_devices(machine.request("gpu:2")).status().id(), "ARG-DEV-005");
}

TEST(CudaBackend, EmulatedGpusStandInForRealOnesWhereAskedFor) {
  fake::Machine machine;
  DeviceRequest request = machine.request();
  request.emulate = "2";
  const auto devices = list_devices(request).value();
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[1].kind, DeviceKind::kEmulated);
}

}  // namespace

}  // namespace argosy::cuda
