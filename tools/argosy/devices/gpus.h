// The machine's cards as every reporting command shows them: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/device/gpu_discovery.h"

namespace argosy::cli {

// "CUDA 13.0 ...; cards: ..." or why there are none: one line.
std::string gpu_summary(const GpuReport& report);
// A table of the cards, and lines on who uses them and what they reach; empty without cards.
std::string gpu_table(const GpuReport& report);
nlohmann::ordered_json gpu_json(const GpuReport& report);

}  // namespace argosy::cli
