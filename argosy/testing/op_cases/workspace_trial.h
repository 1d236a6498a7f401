// What a kernel takes of its device's memory beside inputs and outputs, and what it says it takes
// (argosy/op/kernel/workspace.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "argosy/testing/op_cases/random_case.h"

namespace argosy {

struct WorkspaceTrial {
  std::uint64_t taken = 0;            // the most at once, outputs and what stays behind (state) left out
  std::optional<std::uint64_t> said;  // nothing: the kernel does not know before it runs
};

// Runs the case's first kernel of kind "cpu" twice. The second run has its outputs in memory of their own, as in a step's
// plan, so that everything it takes is workspace. The kernel's error, if it has one.
Result<WorkspaceTrial> try_workspace(const RandomCase& c);

// The case with larger tensors, one for each factor of its sharding rule. The factor repeats in all inputs that have it,
// until the largest tensor has some `most_elements`. Empty: nothing can be enlarged.
std::vector<RandomCase> enlarged_cases(const RandomCase& c, std::int64_t most_elements);

}  // namespace argosy
