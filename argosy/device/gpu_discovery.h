// Turns the physical GPUs of a backend into the GPUs of a session: numbers, virtual GPUs, caps, descriptions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/device/gpu_backend.h"

namespace argosy {

// The GPUs found, or the reason why none were.
struct GpuReport {
  std::shared_ptr<GpuBackend> backend;  // null: `problem` says why
  std::vector<GpuFacts> facts;
  Status problem;
};

// Asks request.gpus, else the CUDA plug-in. Opens the driver; allocates nothing on any GPU.
GpuReport look_for_gpus(const DeviceRequest& request);

// Parses the number of virtual GPUs on each physical GPU: "2" for all, "0:2,1:4" for GPUs 0 and 1 (one on the others),
// "" for one. INVALID_ARGUMENT (ARG-DEV-002) names the wrong part and a correct form.
Result<std::map<int, int>> parse_virtual_gpus(std::string_view text, const std::vector<GpuFacts>& gpus);

// One spec for each usable physical GPU, or for each virtual GPU on it: GPU:0, GPU:1 ... in order. Virtual GPUs share
// the memory evenly, except a reserve for the context and its libraries.
std::vector<DeviceSpec> gpu_specs(const std::vector<GpuFacts>& gpus, const std::map<int, int>& shares);

}  // namespace argosy
