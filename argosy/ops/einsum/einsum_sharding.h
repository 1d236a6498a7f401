#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// An equation is a sharding rule already: letters that the output lacks are summed.
Result<ShardingRule> einsum_sharding(const ShapeContext& c);

}  // namespace argosy
