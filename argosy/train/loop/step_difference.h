// How far a replicated step was from one device's.
#pragma once

#include <string>

namespace argosy {

// Of the loss, the variables' updates and their mirrors.
struct StepDifference {
  double relative = 0;  // the largest distance, over the largest magnitude of that value; 0: the same bits
  std::string value;    // where: "the loss", "'dense/kernel' on device 1"; "" of equal bits
  // The same over variables and mirrors alone. The loss that is reported is no part of what a run promises: it is added up
  // from the shards for the report.
  double variables = 0;
};

}  // namespace argosy
