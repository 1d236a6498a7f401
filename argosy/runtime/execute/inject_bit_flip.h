// Silent data corruption, injected (flip=N, argosy/device/emulated/emulation_parser.h): a kernel's result with one wrong bit, on
// emulated and on real GPUs alike.
#pragma once

#include <span>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

// After a kernel: where its device's observer has a flip due, flips one bit of the mantissa of the first floating
// number among what the kernel wrote: its outputs, or a variable named by its inputs. The host waits for what was
// started on the device. Does nothing where there is no such number: the next kernel's turn comes.
Status inject_bit_flip_if_due(KernelObserver& observer, Device& device, std::span<const Tensor* const> inputs,
                              std::span<const OutputSlot> outputs);

}  // namespace argosy
