// The devices that a GraphDef names, held against those there are, before anything of it is converted.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "argosy/device/device.h"

namespace argosy::tf {

// TensorFlow places a whole graph when it arrives, so that one node on a device that is not there fails it; with soft
// placement only one of another task does. INVALID_ARGUMENT "Cannot assign a device for operation …". Malformed
// messages are left to the importer, which reads them in full.
Status check_devices(std::string_view graph_def, const std::vector<DeviceSpec>& devices, bool soft_placement);

}  // namespace argosy::tf
