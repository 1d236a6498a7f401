// Cases by hand for what ops claim of the examples of a batch (batch_rules_test.cc), and why some have none.
#pragma once

#include <string>
#include <vector>

#include "argosy/testing/random_case.h"

namespace argosy {

// Where random ones are seldom taken, or say nothing of a batch of another size.
std::vector<RandomCase> rule_cases(const OpDef& op);

// Why an op with a rule may go untried; empty: it may not.
std::string why_without_case(const OpDef& op);

}  // namespace argosy
