// How ops that work along given axes are sharded: along the others, and along the reduced ones where partial results
// combine.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Input 1 holds the axes.
Result<ShardingRule> sum_sharding(const ShapeContext& c);
Result<ShardingRule> mean_sharding(const ShapeContext& c);  // of integers, which are rounded: whole along the axes
Result<ShardingRule> max_sharding(const ShapeContext& c);   // Max; Min below
Result<ShardingRule> min_sharding(const ShapeContext& c);
Result<ShardingRule> fold_sharding(const ShapeContext& c);  // whole along the axes: Prod, All, ReduceJoin
// Input 1 holds the one axis that the output lacks: ArgMax.
Result<ShardingRule> arg_sharding(const ShapeContext& c);
// Input 1 holds the one axis, which the output keeps: Cumprod. Linear: Cumsum.
Result<ShardingRule> scan_sharding(const ShapeContext& c);
Result<ShardingRule> linear_scan_sharding(const ShapeContext& c);

}  // namespace argosy
