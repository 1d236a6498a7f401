// Sharding rules of batch normalisation. Channels can be sharded. In training, the statistics need the global batch
// ("whole"), unless the user allows those of each shard (ShardingRule::may_be_local). Without training the statistics
// are inputs, and the batch can be sharded.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> batch_norm_sharding(const ShapeContext& c);
Result<ShardingRule> batch_norm_grad_sharding(const ShapeContext& c);

}  // namespace argosy
