// The flags by which every command that computes is told where: the same spellings everywhere.
#pragma once

#include "argosy/device/device.h"
#include "tools/argosy/command.h"

namespace argosy::cli {

// --devices, --emulate, --mem, --cpu-threads into `request`, which must outlive the command (Command::own()).
void add_device_flags(Command& command, DeviceRequest& request);

}  // namespace argosy::cli
