// From the physical GPUs that a backend finds to the GPUs of a session: numbers, virtual GPUs, caps, descriptions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/device/gpu_backend.h"

namespace argosy {

// What there is, or why not.
struct GpuReport {
  std::shared_ptr<GpuBackend> backend;  // null: `problem` says why
  std::vector<GpuFacts> facts;
  Status problem;
};

// request.gpus, else the CUDA plug-in. Opens the driver; takes nothing on any GPU.
GpuReport look_for_gpus(const DeviceRequest& request);

// "2": so many logical devices on every physical GPU; "0:2,1:4": on these, one on the others; "": one. INVALID_ARGUMENT
// (ARG-DEV-002) says which part and what would do.
Result<std::map<int, int>> parse_virtual_gpus(std::string_view text, const std::vector<GpuFacts>& gpus);

// One for each usable physical GPU, or share of it: GPU:0, GPU:1 ... in their order. Its memory but for a reserve
// (what its context and libraries need) is shared out evenly.
std::vector<DeviceSpec> gpu_specs(const std::vector<GpuFacts>& gpus, const std::map<int, int>& shares);

}  // namespace argosy
