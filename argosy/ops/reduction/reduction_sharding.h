// Sharding rules of ops that work along given axes. The other axes can be sharded, and so can the reduced ones where
// partial results can be combined.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Input 1 holds the axes.
Result<ShardingRule> sum_sharding(const ShapeContext& c);
Result<ShardingRule> mean_sharding(const ShapeContext& c);  // integer means round, so their reduced axes are whole
Result<ShardingRule> max_sharding(const ShapeContext& c);
Result<ShardingRule> min_sharding(const ShapeContext& c);
Result<ShardingRule> fold_sharding(const ShapeContext& c);  // Prod, All, ReduceJoin: the reduced axes are whole
// Input 1 holds one axis, which the output does not have: ArgMax.
Result<ShardingRule> arg_sharding(const ShapeContext& c);
// Input 1 holds one axis, which the output has, too: Cumprod. Cumsum is also linear.
Result<ShardingRule> scan_sharding(const ShapeContext& c);
Result<ShardingRule> linear_scan_sharding(const ShapeContext& c);

}  // namespace argosy
