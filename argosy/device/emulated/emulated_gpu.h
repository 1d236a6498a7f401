// An emulated GPU: host memory with a hard cap, three streams, a part of the cores, and the CPU's kernels.
#pragma once

#include <memory>

#include "argosy/device/device.h"
#include "argosy/device/emulated/emulation_parser.h"
#include "argosy/device/emulated/fault_injector.h"

namespace argosy {

// `shutdown` is shared by the devices of one session. Takes no memory and no thread before it is used.
std::unique_ptr<Device> make_emulated_gpu(DeviceSpec spec, const DeviceFaults& faults,
                                          std::shared_ptr<ShutdownSignal> shutdown);

}  // namespace argosy
