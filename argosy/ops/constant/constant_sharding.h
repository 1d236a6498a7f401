#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// IdentityN: every tensor along its own dimensions, which the others do not touch.
Result<ShardingRule> identity_n_sharding(const ShapeContext& c);

}  // namespace argosy
