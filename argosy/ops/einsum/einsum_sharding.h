#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// The sharding rule of Einsum is its equation: each letter is a factor, and letters that the output lacks are summed.
Result<ShardingRule> einsum_sharding(const ShapeContext& c);

}  // namespace argosy
