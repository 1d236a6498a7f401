// DeviceWalk: one device's thread on its way along the device's order, in one run. It waits for other devices, runs
// kernels, and leaves control flow, copies and captured regions to their own files.
#pragma once

#include <atomic>

#include "argosy/device/device.h"
#include "argosy/runtime/execute/static_control_flow.h"
#include "argosy/runtime/execute/static_run.h"

namespace argosy {

// Used by one thread.
class DeviceWalk {
 public:
  DeviceWalk(StaticRun& run, int d);
  DeviceWalk(const DeviceWalk&) = delete;
  DeviceWalk& operator=(const DeviceWalk&) = delete;

  // Runs positions [from, to) of the device's order. An exception fails the run. On an asynchronous device its work has
  // ended when this returns.
  void drive(std::size_t from, std::size_t to);
  // Waits until the asynchronous kernels that it started have ended. REQUIRED before it is destroyed.
  void settle() { run_.settle(d_, asyncs_); }

 private:
  void drive_instructions(std::size_t from, std::size_t to);
  GraphCapturer* capturer() const;

  // `at`: the position in the order; the ends of a loop change it.
  Status run_special(std::int32_t index, const Instruction& instruction, std::size_t& at);
  Status run_kernel(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta,
                    std::int64_t start);

  StaticRun& run_;
  const Step& step_;
  RunState& state_;
  const int d_;
  Device& device_;
  LaunchQueue* const queue_;        // null: not an asynchronous device
  KernelObserver* const observer_;  // null: the device has none
  StepStats* const stats_;          // null: not collected
  KernelContext::Fields fields_;
  StaticControlFlow flow_;
  std::atomic<std::int32_t>& running_;  // what stuck_text() shows
  std::atomic<int> asyncs_{0};          // asynchronous kernels that have not ended
};

}  // namespace argosy
