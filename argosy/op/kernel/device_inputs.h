// Kernels that want inputs on their device that would lie in the host's memory: int32 values and what the op declares
// host_inputs. A step brings them there by a copy of its own, before what it captures, instead of each kernel in every
// run.
#pragma once

namespace argosy {

// What a kernel may be as well: found by dynamic_cast when a step is compiled.
class DeviceInputs {
 public:
  virtual ~DeviceInputs() = default;
  // Asked of such inputs alone, of plain dtypes.
  virtual bool on_device(int input) const = 0;
};

}  // namespace argosy
