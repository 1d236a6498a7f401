// The machine's GPUs as every reporting command shows them: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/device/gpu_discovery.h"

namespace argosy::cli {

// "CUDA 13.0 ...; GPUs: ..." or why there are none: one line.
std::string gpu_summary(const GpuReport& report);
// A table of the GPUs, and lines on who uses them and what they reach; empty without GPUs.
std::string gpu_table(const GpuReport& report);
nlohmann::ordered_json gpu_json(const GpuReport& report);

}  // namespace argosy::cli
