// How ops that change shapes are sharded.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// By the factors that sizes of input and output have in common, from the outermost dimension on: [6, d] -> [2, 3, d] is
// "(a b) d -> a b d".
Result<ShardingRule> reshape_sharding(const ShapeContext& c);
Result<ShardingRule> squeeze_sharding(const ShapeContext& c);
Result<ShardingRule> expand_dims_sharding(const ShapeContext& c);
// EnsureShape: along dimensions of which it demands nothing.
Result<ShardingRule> ensure_shape_sharding(const ShapeContext& c);

}  // namespace argosy
