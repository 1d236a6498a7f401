// DeviceInputs: the interface of a kernel that needs some of its host inputs in device memory. Host inputs are int32
// values and those that the op declares as host_inputs. The step copies such an input to the device outside the capture
// region. Else the kernel itself would copy it in every run.
#pragma once

namespace argosy {

// A second base class of a kernel. The compiler of steps finds it by dynamic_cast.
class DeviceInputs {
 public:
  virtual ~DeviceInputs() = default;
  // True if the kernel needs this input in device memory. Called for host inputs of plain dtypes only.
  virtual bool on_device(int input) const = 0;
};

}  // namespace argosy
