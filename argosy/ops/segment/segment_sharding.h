#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Sharding rule of Bincount and DenseBincount. The counts of a vector's shards are partial sums; the rows of a matrix
// are counted independently, and can be sharded.
Result<ShardingRule> bincount_sharding(const ShapeContext& c);

}  // namespace argosy
