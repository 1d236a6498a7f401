// A view of a device set: some of its devices, under names of its own, with a cap and a thread budget of its own. A
// session that asks for "GPU 1, as my GPU:0, and no more than half of it" gets one, while others use the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

struct DeviceSetView {
  struct Part {
    int device = 0;                 // of the device set
    std::uint64_t limit_bytes = 0;  // most that may be allocated through this view; 0: what the device has
    int cores = 0;                  // thread budget of its kernels, CPU devices only; 0: the device's
  };
  std::vector<Part> parts;     // the first must be a CPU; numbered anew by kind, in this order
  bool own_resources = false;  // variables, queues and tables of its own, instead of the device set's
};

// Devices do the same work in the same order for all views of a device set. Memory that was allocated through a cap
// counts against it until it is freed; a variable may outlive the view. So caps of the same device and size are passed
// on from views that are gone to new ones. INVALID_ARGUMENT: no such device.
Result<std::shared_ptr<DeviceSet>> view_device_set(const std::shared_ptr<DeviceSet>& device_set,
                                                   const DeviceSetView& view);

}  // namespace argosy
