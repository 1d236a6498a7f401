// Hand-written cases of ops for tests of their batch rules and sharding rules.
#pragma once

#include <vector>

#include "argosy/testing/op_cases/random_case.h"

namespace argosy {

// The cases of this op. They are for ops whose kernels seldom accept random cases, or for which random cases test
// little.
std::vector<RandomCase> rule_cases(const OpDef& op);

}  // namespace argosy
