// Chooses the fastest of the strategies that were tried, and says why each of the others, the runners-up, was not
// chosen. Internal to planner/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/planner/plan.h"

namespace argosy {

// A candidate that was tried.
struct Tried {
  StrategySpec strategy;
  int devices = 1;
  Prediction predicted;     // zeros where it does not fit
  std::uint64_t bytes = 0;  // the memory of the device that needs most
  std::string impossible;   // "does not fit: gpu:0 needs 3.2 GiB …", "is refused: …"; "": it can be run
};

// Returns the position of the first candidate that fits and is within 2 % of the fastest; nullopt: none fits.
// A strategy with micro-batches is chosen only if no other fits. Micro-batches change the statistics of batch
// normalisation, and their gain is smaller than the error of predictions.
std::optional<std::size_t> fastest_that_fits(const std::vector<Tried>& tried);

// Returns the strategies other than `chosen`, with the reasons: the fastest first, those that do not fit last.
std::vector<Alternative> runners_up(const std::vector<Tried>& tried, const Tried& chosen);

// "3.2 ms", "4.71 s", "210 us".
std::string format_seconds(double seconds);

}  // namespace argosy
