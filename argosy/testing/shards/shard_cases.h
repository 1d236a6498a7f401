// Hand-written cases of ops for the test of their sharding rules, beside those of rule_cases.h.
#pragma once

#include <vector>

#include "argosy/testing/op_cases/random_case.h"

namespace argosy {

// The cases of this op: ones that random cases seldom hit, and one for each way in which its rule depends on
// attributes.
std::vector<RandomCase> shard_cases(const OpDef& op);

// Cases that follow from the arguments of an op that changes variables: an optimizer's update, a scatter.
std::vector<RandomCase> update_cases(const OpDef& op);

}  // namespace argosy
