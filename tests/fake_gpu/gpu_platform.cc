// The GPUs of a test's session are fake ones with all our kernels (support/fake_driver_kernels.h), as many as the test
// emulates, or two where it asks for none. So what a test does not place runs on a GPU where that has a kernel for it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "tests/fake_gpu/support/fake_driver_kernels.h"
#include "tests/session/support/test_session.h"

namespace argosy {

namespace {

std::int64_t launches = 0;  // at least one, where any session's GPUs ran a kernel

class GpuPlatform final : public TestPlatform {
 public:
  explicit GpuPlatform(std::shared_ptr<cuda::fake::Machine> machine) : machine_(std::move(machine)) {}
  ~GpuPlatform() override { launches += machine_->driver().counts().launch_calls; }

 private:
  const std::shared_ptr<cuda::fake::Machine> machine_;
};

// That the tests did run on GPUs; of few tests, chosen by a filter, nothing is asked.
class SomeKernelRan final : public testing::Environment {
 public:
  void TearDown() override {
    if (testing::UnitTest::GetInstance()->test_to_run_count() <= 50) return;
    EXPECT_GT(launches, 0);
  }
};
testing::Environment* const some_kernel_ran = testing::AddGlobalTestEnvironment(new SomeKernelRan);

// A process has one such machine at a time: sessions that live together are on it. Null: it has too few GPUs.
std::shared_ptr<cuda::fake::Machine> machine_of(int gpus) {
  static std::weak_ptr<cuda::fake::Machine> last;
  static int last_gpus = 0;
  std::shared_ptr<cuda::fake::Machine> machine = last.lock();
  if (machine != nullptr) return last_gpus < gpus ? nullptr : machine;
  machine = std::make_shared<cuda::fake::Machine>(cuda::fake::gpus_with_kernels(gpus), cuda::fake::with_kernels());
  last = machine;
  last_gpus = gpus;
  return machine;
}

}  // namespace

std::unique_ptr<TestPlatform> make_test_platform(SessionOptions& options) {
  // Sessions with devices, kernels or tasks of their own, or with emulated GPUs that are not like another, stay as they are.
  const std::string emulated = options.devices.emulate;
  const int gpus = emulated.empty() ? 2 : std::atoi(emulated.c_str());
  const bool alike = emulated.empty() || std::to_string(gpus) == emulated;
  const bool own = options.device_set != nullptr || options.kernels != nullptr || options.tasks != nullptr;
  if (own || !alike || gpus < 1 || options.devices.gpus != nullptr) return nullptr;
  std::shared_ptr<cuda::fake::Machine> machine = machine_of(gpus);
  if (machine == nullptr) return nullptr;
  options.devices.emulate.clear();
  options.devices.gpus = machine->backend();
  if (options.devices.devices.empty()) options.devices.devices = std::to_string(gpus);
  return std::make_unique<GpuPlatform>(std::move(machine));
}

}  // namespace argosy
