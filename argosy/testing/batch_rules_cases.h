// Hand-written cases for the batch rules of ops (batch_rules_test.cc), and the reasons why some ops have none.
#pragma once

#include <string>
#include <vector>

#include "argosy/testing/random_case.h"

namespace argosy {

// The cases of this op. Needed where its kernels seldom accept random cases, or where those tell nothing about another
// batch size.
std::vector<RandomCase> rule_cases(const OpDef& op);

// Why an op with a rule needs no case; empty: it needs one.
std::string why_without_case(const OpDef& op);

}  // namespace argosy
