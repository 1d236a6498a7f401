// EntryDevices: copies between memories in a dataflow run, and the work that asynchronous devices have under way.
//
// On an asynchronous device instructions are only enqueued, in stream order. An output is ready at once for later
// instructions of the same device, and its memory is freed in stream order, too. The host waits for the device where
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

  // Runs the entry of a copy. It has ended when this returns; but a copy to an asynchronous device is only ordered
  // before the device's later work. Called by the thread of the entry's device.
  Status copy(RunningEntry& running);
  // Records that the instruction was started on an asynchronous device. True: instructions of other devices that follow
  // it may run only when it has ended.
  bool note_started(std::int32_t instruction) {
    devices_[step_.instructions[instruction].device].started = true;
    return leaves_device_[instruction] != 0;
  }
  // Waits until all that was started has ended; errors stop the run. Called by the host's thread, when no entry runs
  // any more.
  void finish();

 private:
  // Used by the device's compute thread alone, while the run lasts.
  struct AsyncDevice {
    bool started = false;  // it has enqueued something in this run
    // Copies to it that may be under way, with their sources: the device's stream does not keep those alive.
    std::vector<std::pair<Event, Tensor>> arriving;
  };

  Status copy_async(RunningEntry& running, LaunchQueue& queue);

  const Step& step_;
  RunContext& context_;
  EntryQueues& queues_;
  std::vector<AsyncDevice> devices_;  // by device; used for asynchronous ones only
  std::vector<char> leaves_device_;   // by instruction
};

}  // namespace argosy
