// Measures a kernel's workspace, the device memory that it allocates beside inputs and outputs, to compare it with what
// the kernel declares (argosy/op/kernel/workspace.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "argosy/testing/op_cases/random_case.h"

namespace argosy {

struct WorkspaceTrial {
  std::uint64_t taken = 0;            // the measured peak, without outputs and what stays allocated (state)
  std::optional<std::uint64_t> said;  // the declared size; nullopt: the kernel does not know before it runs
};

// Runs the case's first kernel of kind "cpu" twice. The second run gets memory for its outputs, as from a step's memory
// plan, so that all its allocations are workspace. Returns the kernel's error, if it has one.
Result<WorkspaceTrial> try_workspace(const RandomCase& c);

// The case with larger tensors, one for each factor of its sharding rule. The factor repeats in all inputs that have
// it, until the largest tensor has some `most_elements`. Empty: nothing can be enlarged.
std::vector<RandomCase> enlarged_cases(const RandomCase& c, std::int64_t most_elements);

}  // namespace argosy
