// Issue 31: out of memory on the session's gpu:0 advised "--mem gpu:0=…", although the machine calls that GPU 1. A user
// who followed the advice capped another GPU. All GPU allocators, and the refusal before step 0, use said_name() now.
#include <gmock/gmock.h>

#include "argosy/device/device.h"
#include "argosy/device/gpu_discovery.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

TEST(GpuNumbers, AnAllocationThatFailsNamesTheMachinesGpu) {
  const auto devices = make_devices({.devices = "gpu:1", .emulate = "gpu:1MiB,gpu:1MiB"}).value();
  const DeviceSpec& spec = devices[1]->spec();
  EXPECT_EQ(spec.name.short_string(), "gpu:0");
  EXPECT_EQ(spec.said_name(), "gpu:0 (the machine's GPU 1)");
  EXPECT_EQ(spec.request_name(), "gpu:1");
  const Status refused = devices[1]->allocator().allocate(std::size_t{2} << 20).status();
  EXPECT_THAT(refused.message(), HasSubstr("gpu:0 (the machine's GPU 1)"));
  EXPECT_THAT(refused.hint(), HasSubstr("--mem gpu:1=SIZE"));
}

TEST(GpuNumbers, NothingIsAddedWhereTheNumbersAgree) {
  const auto devices = make_devices({.devices = "gpu:0", .emulate = "gpu:1MiB,gpu:1MiB"}).value();
  EXPECT_EQ(devices[1]->spec().said_name(), "gpu:0");
  EXPECT_EQ(devices[0]->spec().said_name(), "cpu:0");
  EXPECT_THAT(devices[1]->allocator().allocate(std::size_t{2} << 20).status().hint(), HasSubstr("--mem gpu:0=SIZE"));
}

// CUDA_VISIBLE_DEVICES=2,3: the process counts from 0, nvidia-smi does not.
TEST(GpuNumbers, ThoseOfNvidiaSmiAreSaid) {
  GpuFacts gpu{.number = 0, .name = "GPU", .pci = "0000:3b:00.0", .memory_bytes = std::uint64_t{8} << 30};
  gpu.system_number = 2;
  GpuFacts second = gpu;
  second.number = 1;
  second.system_number = 3;
  const auto specs = gpu_specs({gpu, second}, {});
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].said_name(), "gpu:0 (the machine's GPU 2)");
  EXPECT_EQ(specs[1].said_name(), "gpu:1 (the machine's GPU 3)");
  EXPECT_EQ(specs[1].request_name(), "gpu:1");
  EXPECT_THAT(specs[1].description, HasSubstr("nvidia-smi's GPU 3"));
}

}  // namespace
}  // namespace argosy
