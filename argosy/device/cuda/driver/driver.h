// Driver: the CUDA driver of this machine; turns its error codes into Status.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/device/cuda/driver/driver_api.h"

namespace argosy::cuda {

// A table of driver calls and the version behind it. Immutable, shared, thread-safe.
class Driver {
 public:
  // Opens libcuda.so.1 as the loader finds it, and starts it. UNAVAILABLE:
  // * ARG-GPU-003: there is no driver.
  // * ARG-GPU-004: a symbol that we need is missing, or the driver is older than CUDA 12.0.
  // * ARG-GPU-005: it does not start (no GPU, or a kernel module of another version).
  static Result<std::shared_ptr<const Driver>> open();
  // Starts a given table (a fake driver), as open() does.
  static Result<std::shared_ptr<const Driver>> over(const DriverCalls& calls);

  const DriverCalls* operator->() const { return &calls_; }
  int version() const { return version_; }  // 13000: supports CUDA 13.0
  std::string version_text() const;         // "13.0"

  // The driver's result as a Status. RESOURCE_EXHAUSTED (ARG-MEM-002): out of memory. UNAVAILABLE (ARG-DEV-003): the
  // GPU or its context is gone, or a kernel broke it. INTERNAL (ARG-GPU-010): anything else. The message contains the
  // driver's code.
  Status check(CuResult result, std::string_view call) const;
  // True for an error after which the context cannot be used any more.
  static bool breaks_context(CuResult result);

 private:
  explicit Driver(const DriverCalls& calls) : calls_(calls) {}
  Status start();

  DriverCalls calls_;
  int version_ = 0;
};

inline constexpr int kOldestDriver = 12000;

}  // namespace argosy::cuda
