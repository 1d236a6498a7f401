// How far a replicated step was from one device's.
#pragma once

#include <string>

namespace argosy {

// Of the loss, the variables' updates and their mirrors.
struct StepDifference {
  double relative = 0;  // the largest distance, over the largest magnitude of that value; 0: the same bits
  std::string value;    // where: "the loss", "'dense/kernel' on device 1"; "" of equal bits
};

}  // namespace argosy
