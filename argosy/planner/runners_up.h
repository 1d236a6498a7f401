// Chooses among strategies that were tried, and says why the others lose. Internal to planner/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/planner/plan.h"

namespace argosy {

// What is known of a candidate.
struct Tried {
  StrategySpec strategy;
  int devices = 1;
  Prediction predicted;     // zeros where it does not fit
  std::uint64_t bytes = 0;  // on the fullest device
  std::string impossible;   // "does not fit: gpu:0 needs 3.2 GiB …", "is refused: …"; "": it can be run
};

// Position of the fastest that fits; of equally fast ones the first. Nothing where none fits.
// Micro-batches change what batch normalisation sees, and predictions err by more than they gain. So a strategy with
// micro-batches is taken only where no other fits.
std::optional<std::size_t> fastest_that_fits(const std::vector<Tried>& tried);

// `chosen`: among `tried`. Fastest first, then what does not fit.
std::vector<Alternative> runners_up(const std::vector<Tried>& tried, const Tried& chosen);

// "3.2 ms", "4.71 s", "210 us".
std::string format_seconds(double seconds);

}  // namespace argosy
