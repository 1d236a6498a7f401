// From the cards that a backend finds to the GPUs of a session: numbers, virtual GPUs, caps, descriptions.
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
  std::vector<CardFacts> cards;
  Status problem;
};

// request.gpus, else the CUDA plug-in. Opens the driver; takes nothing on any card.
GpuReport look_for_gpus(const DeviceRequest& request);

// "2": so many logical devices on every card; "0:2,1:4": on these, one on the others; "": one. INVALID_ARGUMENT
// (ARG-DEV-002) says which part and what would do.
Result<std::map<int, int>> parse_virtual_gpus(std::string_view text, const std::vector<CardFacts>& cards);

// One for each usable card, or share of it: GPU:0, GPU:1 ... in the cards' order. A card's memory but for a reserve
// (what its context and libraries need) is shared out evenly.
std::vector<DeviceSpec> gpu_specs(const std::vector<CardFacts>& cards, const std::map<int, int>& shares);

}  // namespace argosy
