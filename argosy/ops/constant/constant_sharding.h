#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// The sharding rule of IdentityN: each tensor is sharded along its own dimensions, independently of the others.
Result<ShardingRule> identity_n_sharding(const ShapeContext& c);

}  // namespace argosy
