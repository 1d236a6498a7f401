#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Cast: elementwise, and linear where neither rounds to integers nor widens what may have wrapped around.
Result<ShardingRule> cast_sharding(const ShapeContext& c);

}  // namespace argosy
