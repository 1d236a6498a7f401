#include "argosy/device/plugin.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "argosy/device/gpu_discovery.h"

namespace argosy {

namespace {

using testing::HasSubstr;

Status opened(const char* plugin) {
  setenv("ARGOSY_CUDA_PLUGIN", plugin, 1);
  auto backend = open_cuda_plugin();
  unsetenv("ARGOSY_CUDA_PLUGIN");
  return backend.ok() ? Status() : std::move(backend).status();
}

TEST(Plugin, SaysWhyThereIsNone) {
  EXPECT_EQ(opened("none").id(), "ARG-GPU-001");
  const Status missing = opened("/no/such/libargosy_cuda.so");
  EXPECT_EQ(missing.id(), "ARG-GPU-001");
  EXPECT_THAT(missing.message(), HasSubstr("/no/such/libargosy_cuda.so"));
}

TEST(Plugin, RefusesWhatIsNoPlugin) {
  EXPECT_EQ(opened("/proc/self/status").id(), "ARG-GPU-002");  // no library
  const Status other = opened("/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(other.id(), "ARG-GPU-002");
  EXPECT_THAT(other.message(), HasSubstr(kGpuPluginSymbol));
}

TEST(Plugin, WithoutItDevicesAreAsBefore) {
  setenv("ARGOSY_CUDA_PLUGIN", "none", 1);
  EXPECT_EQ(list_devices({}).value().size(), 1U);
  EXPECT_EQ(make_devices({.devices = "gpu:0"}).status().id(), "ARG-DEV-005");
  EXPECT_EQ(look_for_gpus({}).problem.id(), "ARG-GPU-001");
  unsetenv("ARGOSY_CUDA_PLUGIN");
}

}  // namespace

}  // namespace argosy
