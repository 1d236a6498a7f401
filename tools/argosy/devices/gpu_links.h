// The links between the machine's GPUs, as doctor shows them: a matrix for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/device/link_facts.h"

namespace argosy::cli {

// A matrix of rates in GB/s, from the GPU of the row to the GPU of the column. Below it, lines about links that have a
// problem (not tried, or something was wrong) or are not direct. Empty without GPUs.
std::string links_table(const GpuLinks& all);
// "of gpu:0, gpu:1: NCCL (it is there); ..." Empty for fewer than two GPUs.
std::string links_sums(const GpuLinks& all);
// What the user should change, one line each.
std::vector<std::string> links_advice(const GpuLinks& all);
nlohmann::ordered_json links_json(const GpuLinks& all);

}  // namespace argosy::cli
