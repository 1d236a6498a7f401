// A logical CPU device: host memory, counted and kept for reuse, and a share of the cores.
#pragma once

#include <memory>

#include "argosy/device/device.h"

namespace argosy {

// The spec of a CPU device with this many threads.
DeviceSpec cpu_spec(const DeviceName& name, int threads, std::uint64_t memory_limit_bytes);

// Takes no memory and no thread before it is used.
std::unique_ptr<Device> make_cpu_device(DeviceSpec spec);

}  // namespace argosy
