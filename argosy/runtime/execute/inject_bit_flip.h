// Silent data corruption, injected (flip=N, argosy/device/emulated/emulation_parser.h): a kernel's result with one
// wrong bit, on emulated and on real GPUs alike.
#pragma once

#include <span>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Called after a kernel. Where its device's observer has a flip due, flips one bit of the mantissa of a number that the
// kernel wrote. It is the first floating-point number of the outputs, or of a variable named by the inputs. On an
// asynchronous device the host waits for earlier work first. Where there is no such number, the flip stays due for the
// next kernel.
Status inject_bit_flip_if_due(KernelObserver& observer, Device& device, std::span<const Tensor* const> inputs,
                              std::span<const OutputSlot> outputs);

}  // namespace argosy
