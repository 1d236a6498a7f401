// Kernels that wait for others and, on asynchronous devices (LaunchQueue), need not wait for the
// end of theirs: they pass on the event at which it will be over.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

class AsyncLaunchKernel : public AsyncKernel {
 public:
  // Called once, from any thread: with what whoever reads an output, or writes over an input, has to wait for.
  using Started = std::function<void(Result<Event>)>;
  virtual void start(KernelContext& c, Started started) = 0;
  // For who knows nothing of events: waits on the host for the point, on the thread that brings it.
  void run_async(KernelContext& c, Done done) final;
  // Who does the work among these devices, by rank, and why: a line for the step's notes.
  virtual std::string describe(std::span<Device* const> group) const = 0;
};

}  // namespace argosy
