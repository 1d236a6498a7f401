// Checks that the devices named in a GraphDef exist, before any of it is converted.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "argosy/device/device.h"

namespace argosy::tf {

// TensorFlow places a whole graph when it arrives, so a single node on a device that does not exist fails it. With soft
// placement only a device of a task that does not exist fails it. INVALID_ARGUMENT "Cannot assign a device for
// operation …". Does not report malformed messages: the importer does.
Status check_devices(std::string_view graph_def, const std::vector<DeviceSpec>& devices, bool soft_placement);

}  // namespace argosy::tf
