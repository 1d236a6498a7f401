#include "tools/argosy/device_flags.h"

namespace argosy::cli {

void add_machine_flags(Command& command, DeviceRequest& request) {
  command
      .option("--emulate N", request.emulate,
              "that many emulated GPUs in host memory, or a description: \"gpu:11GiB@1.0,gpu:11GiB@0.5;link=12GB/s\" "
              "(default $ARGOSY_EMULATE)")
      .option("--mem CAPS", request.memory, "hard memory caps by device: gpu:0=4GiB,gpu:1=50%")
      .option("--virtual-gpus N", request.virtual_gpus,
              "so many logical GPUs on every card, or by card: 0:2,1:4 (default $ARGOSY_VIRTUAL_GPUS)");
}

void add_device_flags(Command& command, DeviceRequest& request) {
  command.option("--devices LIST", request.devices,
                 "gpu:0,gpu:1 or cpu:0, a number of GPUs, or auto: every GPU there is, else the CPU");
  add_machine_flags(command, request);
  command.option("--cpu-threads N", request.cpu_threads, "threads of the CPU device; 0: every core",
                 {.least = 0, .most = 4096});
  command.option("--tf32", request.tf32,
                 "products of float32 on cards with TensorFloat-32: faster, 10 bits of mantissa");
}

}  // namespace argosy::cli
