#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Select, whose condition has the shape of what it selects from, or is one value, or one for each row.
Result<ShardingRule> select_sharding(const ShapeContext& c);

}  // namespace argosy
