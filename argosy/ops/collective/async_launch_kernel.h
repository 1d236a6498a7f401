// AsyncLaunchKernel: a kernel that waits for other devices but not for its own. On an asynchronous device (LaunchQueue) it
// passes on the event at which its work is done.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

class AsyncLaunchKernel : public AsyncKernel {
 public:
  // Called once, from any thread. Readers of outputs, and writers over inputs, wait for the event.
  using Started = std::function<void(Result<Event>)>;
  virtual void start(KernelContext& c, Started started) = 0;
  // For callers without events: waits for the event on the host, on the thread that brings it.
  void run_async(KernelContext& c, Done done) final;
  // Which backend does the work among these devices, by rank, and why: a line for the step's notes.
  virtual std::string describe(std::span<Device* const> group) const = 0;
};

}  // namespace argosy
