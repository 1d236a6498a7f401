// What connects the machine's cards, as doctor shows it: a matrix for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/device/link_facts.h"

namespace argosy::cli {

// A matrix of rates in GB/s, from the card of the row to the card of the column, and lines on what is not as it should
// be or not direct. Empty where there is no card.
std::string links_table(const CardLinks& all);
// "of gpu:0, gpu:1: NCCL (it is there); ..." Empty for fewer than two cards.
std::string links_sums(const CardLinks& all);
// What is worth changing.
std::vector<std::string> links_advice(const CardLinks& all);
nlohmann::ordered_json links_json(const CardLinks& all);

}  // namespace argosy::cli
