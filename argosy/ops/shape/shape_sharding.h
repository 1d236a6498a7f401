// Sharding rules of ops that change shapes.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// Matches the sizes of input and output from the outermost dimension on, and names their common factors: for
// [6, d] -> [2, 3, d] the rule is "(a b) d -> a b d".
Result<ShardingRule> reshape_sharding(const ShapeContext& c);
Result<ShardingRule> squeeze_sharding(const ShapeContext& c);
Result<ShardingRule> expand_dims_sharding(const ShapeContext& c);
// EnsureShape: the dimensions that it does not check can be sharded.
Result<ShardingRule> ensure_shape_sharding(const ShapeContext& c);

}  // namespace argosy
