// Makes the device set of a client's session: the server's, or a view of it by the session's ConfigProto.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/runtime/device_set/device_set.h"
#include "argosy/tf/server/session/session_config.h"

namespace tensorflow {
class ListDevicesResponse;
}  // namespace tensorflow

namespace argosy::tf {

Result<std::shared_ptr<DeviceSet>> session_device_set(const std::shared_ptr<DeviceSet>& server,
                                                      const SessionConfig& config);

// Writes the response of ListDevices: the devices of this task, then those of other tasks.
void describe_devices(const std::vector<DeviceSpec>& own, const std::vector<DeviceSpec>& others,
                      tensorflow::ListDevicesResponse& to);

// Removes the resources of a container on every device; "" is the default one, which TensorFlow calls "localhost".
void reset_container(DeviceSet& device_set, const std::string& container);

}  // namespace argosy::tf
