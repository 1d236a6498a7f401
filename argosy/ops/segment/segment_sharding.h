#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Bincount, DenseBincount: counts of one list add up; lists of a matrix are counted apart.
Result<ShardingRule> bincount_sharding(const ShapeContext& c);

}  // namespace argosy
