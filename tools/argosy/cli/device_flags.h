// The flags by which every command that computes is told where: the same spellings everywhere.
#pragma once

#include "argosy/device/device.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// What the machine has: --emulate, --mem. `request` must outlive the command (Command::own()).
void add_machine_flags(Command& command, DeviceRequest& request);
// What of it to use: those, and --gpus, --devices, --cpu-threads.
void add_device_flags(Command& command, DeviceRequest& request);
// "gpu:0 is the machine's GPU 2, gpu:1 its GPU 3"; empty where both count alike.
std::string machine_numbers(const std::vector<DeviceSpec>& devices);

}  // namespace argosy::cli
