// Why some ops with a batch rule have no case (batch_rules_test.cc).
#pragma once

#include <string>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// Why an op with a rule needs no case; empty: it needs one.
std::string why_without_case(const OpDef& op);

}  // namespace argosy
