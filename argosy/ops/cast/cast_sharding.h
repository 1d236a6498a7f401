#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Cast: elementwise. Linear, except from floats to integers or back, and from integers to wider ones, whose sums may
// have wrapped.
Result<ShardingRule> cast_sharding(const ShapeContext& c);

}  // namespace argosy
