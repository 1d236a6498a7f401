// The driver as found on this machine, and its errors as ours.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/device/cuda/driver/driver_api.h"

namespace argosy::cuda {

// A table of calls and what is known of who answers them. Immutable, shared, thread-safe.
class Driver {
 public:
  // libcuda.so.1 as the loader finds it. UNAVAILABLE: ARG-GPU-003 there is none; ARG-GPU-004 a symbol that we need is
  // missing or the driver is older than the oldest we run on (CUDA 12.0); ARG-GPU-005 it does not start (no GPU, a
  // kernel module of another version).
  static Result<std::shared_ptr<const Driver>> open();
  // Over a table of one's own (a fake). Starts it, as open().
  static Result<std::shared_ptr<const Driver>> over(const DriverCalls& calls);

  const DriverCalls* operator->() const { return &calls_; }
  int version() const { return version_; }  // 13000: CUDA 13.0 is what it can do
  std::string version_text() const;         // "13.0"

  // OK, or an error: RESOURCE_EXHAUSTED when memory is out (ARG-MEM-002), UNAVAILABLE when the GPU or its context is
  // gone or a kernel broke it (ARG-DEV-003), INTERNAL for all else (ARG-GPU-010). The message has the driver's code.
  Status check(CuResult result, std::string_view call) const;
  // Nothing can be done with the context any more.
  static bool breaks_context(CuResult result);

 private:
  explicit Driver(const DriverCalls& calls) : calls_(calls) {}
  Status start();

  DriverCalls calls_;
  int version_ = 0;
};

inline constexpr int kOldestDriver = 12000;

}  // namespace argosy::cuda
