// The difference between a replicated step and one device's.
#pragma once

#include <string>

namespace argosy {

// The largest relative difference among the loss, the variables' updates, and those of their mirrors.
struct StepDifference {
  double relative = 0;  // relative_difference(); 0: all elements are equal
  std::string value;    // where: "the loss", "'dense/kernel' on device 1"; "" of equal bits
  // The same without the loss. The promise of equal bits does not cover the reported loss, which is added up from the
  // shards for the report.
  double variables = 0;
};

}  // namespace argosy
