// Silent corruption on fake GPUs: a flipped bit on one of them, and memory that NVML reports as failed.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>

#include "argosy/data/dataset.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

// NVML is C and has no place for a state of the test's: it is here. How often a GPU was looked at, and from which look
// on the second GPU's memory has failed (0: never).
std::atomic<int> looks{0}, fails_at{0};

int ok() { return 0; }
int version(char* text, unsigned length) {
  std::snprintf(text, length, "580.65");
  return 0;
}
// The GPUs are told apart by their addresses: 0000:01:00.0 and 0000:02:00.0.
int handle_at(const char* pci, cuda::NvmlCalls::Handle* handle) {
  *handle = reinterpret_cast<cuda::NvmlCalls::Handle>(static_cast<std::uintptr_t>(pci[6] - '0'));
  return 0;
}
int no_memory(cuda::NvmlCalls::Handle, cuda::NvmlCalls::Memory*) { return 3; }
int no_rates(cuda::NvmlCalls::Handle, cuda::NvmlCalls::Utilisation*) { return 3; }
int no_processes(cuda::NvmlCalls::Handle, unsigned*, cuda::NvmlCalls::Process*) { return 3; }
int no_links(cuda::NvmlCalls::Handle, unsigned, unsigned*) { return 3; }
int errors(cuda::NvmlCalls::Handle handle, int type, int, unsigned long long* count) {
  const bool second = reinterpret_cast<std::uintptr_t>(handle) == 2;
  if (second && type == 1) ++looks;
  *count = second && type == 1 && fails_at > 0 && looks >= fails_at ? 2 : 0;
  return 0;
}

cuda::CudaBackend::Options with_nvml() {
  cuda::CudaBackend::Options options = cuda::fake::with_kernels();
  options.nvml = cuda::Nvml::over({.init = ok,
                                   .shutdown = ok,
                                   .driver_version = version,
                                   .handle_by_pci = handle_at,
                                   .memory = no_memory,
                                   .utilisation = no_rates,
                                   .processes = no_processes,
                                   .link_state = no_links,
                                   .ecc_errors = errors})
                     .value();
  return options;
}

Result<TrainReport> train(const DeviceRequest& devices) {
  TrainerOptions options{.optimizer = adam(0.01), .batch = 6, .steps = 3, .seed = 5};
  options.verdict = false;
  options.check_replicas_every = 1;
  options.devices = devices;
  const auto data = data::open_dataset("synthetic", {.image_size = 4, .channels = 1, .examples = 32}).value();
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer,
                          Trainer::make(models::mlp({.image_size = 4, .channels = 1, .classes = 10}, 8, 8), options));
  return trainer->fit(*data);
}

TEST(SilentCorruption, OfThreeGpusTheOneWithTheFlippedBitIsNamed) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(3), cuda::fake::with_kernels());
  DeviceRequest request = machine.request();
  ASSERT_TRUE(train(request).ok());
  int told = 0;
  for (int n = 1; n <= 40 && told < 2; ++n) {
    request.faults = str_cat("gpu:2:flip=", n);
    const auto report = train(request);
    if (report.ok()) continue;
    ++told;
    EXPECT_EQ(report.status().id(), "ARG-TRAIN-003") << report.status().to_string();
    EXPECT_THAT(report.status().message(), HasSubstr("gpu:2 differs from the others"));
  }
  EXPECT_EQ(told, 2);
  request.faults = "";
  EXPECT_TRUE(train(request).ok());
}

TEST(SilentCorruption, AGpuWhoseMemoryFailsMeanwhileEndsTheRun) {
  looks = fails_at = 0;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), with_nvml());
  ASSERT_TRUE(train(machine.request()).ok());
  // After the looks at the start of a run, in its first steps.
  const int of_a_run = looks;
  ASSERT_GT(of_a_run, 3);
  looks = 0;
  fails_at = of_a_run;
  const auto report = train(machine.request());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().id(), "ARG-DEV-006") << report.status().to_string();
  EXPECT_THAT(report.status().message(), HasSubstr("gpu:1"));
  EXPECT_THAT(report.status().message(), HasSubstr("2 bit errors"));
  // What was there from the start is not this run's.
  EXPECT_TRUE(train(machine.request()).ok());
}

}  // namespace
}  // namespace argosy
