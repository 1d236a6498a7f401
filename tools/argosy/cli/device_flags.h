// The flags that choose devices, with the same spellings in every command.
#pragma once

#include "argosy/device/device.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// Flags of the machine: --emulate, --mem. `request` must outlive the command (Command::own()).
void add_machine_flags(Command& command, DeviceRequest& request);
// Flags of the devices to use: those, and --gpus, --devices, --cpu-threads.
void add_device_flags(Command& command, DeviceRequest& request);
// "gpu:0 is the machine's GPU 2, gpu:1 its GPU 3"; empty where the numbers are equal.
std::string machine_numbers(const std::vector<DeviceSpec>& devices);

}  // namespace argosy::cli
