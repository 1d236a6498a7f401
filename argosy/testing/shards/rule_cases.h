// Hand-written cases of ops for tests of their rules: rows of examples, and shards.
#pragma once

#include <vector>

#include "argosy/testing/op_cases/random_case.h"

namespace argosy {

// The cases of this op. Needed where its kernels seldom accept random cases, or where those tell little.
std::vector<RandomCase> rule_cases(const OpDef& op);

}  // namespace argosy
