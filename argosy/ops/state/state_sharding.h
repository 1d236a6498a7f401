#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Sharding rule of Assign and AssignVariableOp: the dimensions that are equal in variable and value can be sharded. The
// value may have another shape.
Result<ShardingRule> assign_sharding(const ShapeContext& c);

}  // namespace argosy
