#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Assign, AssignVariableOp: along dimensions that variable and value have alike. The value may have another shape.
Result<ShardingRule> assign_sharding(const ShapeContext& c);

}  // namespace argosy
