// How batch normalisation is sharded: along channels. Along the batch, statistics are of all examples (whole) unless the
// user lets a shard keep its own (ShardingRule::may_be_local). Not training, the statistics are given.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> batch_norm_sharding(const ShapeContext& c);
Result<ShardingRule> batch_norm_grad_sharding(const ShapeContext& c);

}  // namespace argosy
