#include "tools/argosy/device_flags.h"

namespace argosy::cli {

void add_machine_flags(Command& command, DeviceRequest& request) {
  command
      .option("--emulate N", request.emulate,
              "that many emulated GPUs in host memory, or a description: \"gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s\" "
              "(default $ARGOSY_EMULATE)")
      .option("--mem CAPS", request.memory, "hard memory caps by device: gpu:0=4GiB,gpu:1=50%");
}

void add_device_flags(Command& command, DeviceRequest& request) {
  command.option("--devices LIST", request.devices,
                 "gpu:0,gpu:1 or cpu:0, a number of GPUs, or auto: every GPU there is, else the CPU");
  add_machine_flags(command, request);
  command.option("--cpu-threads N", request.cpu_threads, "threads of the CPU device; 0: every core",
                 {.least = 0, .most = 4096});
}

}  // namespace argosy::cli
