// EntryDevices: copies between memories in a dataflow run, and what asynchronous devices have under way.
//
// On an asynchronous device instructions are only started, in the order of its stream. What one gives is ready for the
// next of the same device at once, and its memory is freed in that order too. The host waits for the device where
// something leaves it (a value in the host's memory, a control edge to another device), and when the run ends.
#pragma once

#include <utility>
#include <vector>

#include "argosy/device/event.h"
#include "argosy/runtime/execute/dataflow/entry_queues.h"

namespace argosy {

class LaunchQueue;

class EntryDevices {
 public:
  // All outlive it.
  EntryDevices(const Step& step, RunContext& context, EntryQueues& queues);

  // The entry of a copy. Done when this returns; a copy to an asynchronous device comes before its later work. By the
  // thread of the entry's device.
  Status copy(RunningEntry& running);
  // The instruction was started on an asynchronous device. True: an instruction of another device may go on only when
  // it has ended.
  bool note_started(std::int32_t instruction) {
    devices_[step_.instructions[instruction].device].started = true;
    return leaves_device_[instruction] != 0;
  }
  // Waits until what was started is over; errors stop the run. By the host's thread, when no entry runs any more.
  void finish();

 private:
  // Its compute thread's, while the run lasts.
  struct AsyncDevice {
    bool started = false;  // something, since the run began
    // Copies to it that may be under way, and what they read: memory of which its stream knows nothing.
    std::vector<std::pair<Event, Tensor>> arriving;
  };

  Status copy_async(RunningEntry& running, LaunchQueue& queue);

  const Step& step_;
  RunContext& context_;
  EntryQueues& queues_;
  std::vector<AsyncDevice> devices_;  // by device; of others than asynchronous ones unused
  std::vector<char> leaves_device_;   // by instruction
};

}  // namespace argosy
