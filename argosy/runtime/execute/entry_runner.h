// EntryRunner: runs the instructions of a dataflow run, one entry at a time on each device's thread.
//
// On an asynchronous device instructions are only started, in the order of its stream. What one gives is ready for the
// next of the same device at once, and its memory is freed in that order too. The host waits for the device where
// something leaves it (a value in the host's memory, a control edge to another device), and when the run ends.
#pragma once

#include <utility>
#include <vector>

#include "argosy/device/event.h"
#include "argosy/runtime/execute/entry_queues.h"

namespace argosy {

class EntryRunner {
 public:
  // All outlive it.
  EntryRunner(const Step& step, RunState& state, RunContext& context, EntryQueues& queues);

  // Runs the entry in `running`; one that is dead, or of a failed run, just ends. An error fails the run. True: it has
  // ended, and is to be settled. False: it goes on by itself, `running` has lost it, and its end settles it. By the
  // thread of the entry's device.
  bool execute(RunningEntry& running);

  // Waits until what was started on asynchronous devices is over; their errors stop the run. By the host's thread, when
  // no entry runs any more.
  void finish_async_devices();

 private:
  // An asynchronous device. Its compute thread's, while the run lasts.
  struct AsyncDevice {
    bool started = false;  // something, since the run began
    // Copies to it that may be under way, and what they read: memory of which its stream knows nothing.
    std::vector<std::pair<Event, Tensor>> arriving;
  };

  bool execute_unguarded(RunningEntry& running);
  bool complete(RunningEntry& running, Status status);
  Status dereference(RunningEntry& running);
  Status copy(RunningEntry& running, Device& device);
  Status copy_async(RunningEntry& running, Device& device);
  KernelContext::Fields fields_of(RunningEntry& running, Device& device);
  Status run_kernel(RunningEntry& running, Device& device, KernelContext& kernel_context);
  bool start_async(RunningEntry& running, Device& device, const KernelContext& kernel_context);

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  EntryQueues& queues_;
  std::vector<AsyncDevice> async_devices_;  // by device
  // By instruction: it must have ended before an instruction of another device may go on.
  std::vector<char> leaves_device_;
};

}  // namespace argosy
