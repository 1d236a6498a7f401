// AsyncLaunchKernel: an asynchronous kernel that waits for other devices but not for its own. On an asynchronous device
// (LaunchQueue) it returns the event at which its work is done.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

class AsyncLaunchKernel : public AsyncKernel {
 public:
  // Called once, from any thread. After the event outputs may be read, and inputs overwritten.
  using Started = std::function<void(Result<Event>)>;
  virtual void start(KernelContext& c, Started started) = 0;
  // Calls start(), for callers that take no event. The thread that delivers the event waits for it on the host, then
  // calls `done`.
  void run_async(KernelContext& c, Done done) final;
  // Returns one line for the step's notes: the backend for these devices (by rank), and why.
  virtual std::string describe(std::span<Device* const> group) const = 0;
};

}  // namespace argosy
