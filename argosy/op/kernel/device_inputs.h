// DeviceInputs: a kernel that wants some of its host inputs on the device. Host inputs are int32 values and those that
// the op declares host_inputs. A step then copies such an input to the device once, before the part that it captures. Else
// the kernel would copy it in every run.
#pragma once

namespace argosy {

// A second base class of a kernel. The compiler of steps finds it by dynamic_cast.
class DeviceInputs {
 public:
  virtual ~DeviceInputs() = default;
  // Whether the kernel wants this input on the device. Asked for host inputs of plain dtypes only.
  virtual bool on_device(int input) const = 0;
};

}  // namespace argosy
