// GpuSession: a Session in whose place tests of whole sessions are compiled again (CMakeLists.txt). Its GPUs are fake ones
// with all our kernels (support/fake_driver_kernels.h), as many as the test emulates, or two where it asks for none. So
// what a test does not place runs on a GPU where that has a kernel for it. All else is the test's own: it expects the same
// values and errors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "argosy/runtime/session/session.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {

// Made before the session, and gone after it.
struct GpusOfSession {
  // Sessions with devices, kernels or tasks of their own, or with emulated GPUs that are not like another, stay as they are.
  explicit GpusOfSession(SessionOptions& options) {
    const std::string emulated = options.devices.emulate;
    const int gpus = emulated.empty() ? 2 : std::atoi(emulated.c_str());
    const bool alike = emulated.empty() || std::to_string(gpus) == emulated;
    const bool own = options.device_set != nullptr || options.kernels != nullptr || options.tasks != nullptr;
    if (own || !alike || gpus < 1 || options.devices.gpus != nullptr) return;
    // A process has one such machine at a time: sessions that live together are on it.
    static std::weak_ptr<cuda::fake::Machine> last;
    static int last_gpus = 0;
    machine = last.lock();
    if (machine != nullptr && last_gpus < gpus) {
      machine = nullptr;
      return;
    }
    if (machine == nullptr) {
      machine = std::make_shared<cuda::fake::Machine>(cuda::fake::gpus_with_kernels(gpus), cuda::fake::with_kernels());
      last = machine;
      last_gpus = gpus;
    }
    options.devices.emulate.clear();
    options.devices.gpus = machine->backend();
    if (options.devices.devices.empty()) options.devices.devices = std::to_string(gpus);
  }
  ~GpusOfSession() {
    if (machine != nullptr) launches += machine->driver().counts().launch_calls;
  }
  std::shared_ptr<cuda::fake::Machine> machine;  // null: the session is the test's
  static inline std::int64_t launches = 0;       // at least one, where any session's GPUs ran a kernel
};

// That the tests did run on GPUs; of few tests, chosen by a filter, nothing is asked.
class SomeKernelRan final : public testing::Environment {
 public:
  void TearDown() override {
    if (testing::UnitTest::GetInstance()->test_to_run_count() <= 50) return;
    EXPECT_GT(GpusOfSession::launches, 0);
  }
};
inline testing::Environment* const some_kernel_ran = testing::AddGlobalTestEnvironment(new SomeKernelRan);

class GpuSession final : private GpusOfSession, public Session {
 public:
  explicit GpuSession(const Graph& graph, SessionOptions options = {})
      : GpusOfSession(options), Session(graph, std::move(options)) {}
  ~GpuSession() { (void)close(); }
};

}  // namespace argosy

// What follows is a test that says Session.
#define Session GpuSession
