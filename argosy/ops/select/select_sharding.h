#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Sharding rule of Select. Its condition has the operands' shape, or is a scalar, or a vector with one value per row.
Result<ShardingRule> select_sharding(const ShapeContext& c);

}  // namespace argosy
