// DeviceAttributes: how a device of ours is described to TensorFlow, and one of another task to us.
#pragma once

#include "argosy/device/device.h"

namespace tensorflow {
class DeviceAttributes;
}

namespace argosy::tf {

void describe_device(const DeviceSpec& spec, tensorflow::DeviceAttributes& to);
// A device of another task: it can be named and placed on, not opened. INVALID_ARGUMENT "ARG-CLUSTER-010": its name is
// not full.
Result<DeviceSpec> read_device(const tensorflow::DeviceAttributes& device);

}  // namespace argosy::tf
