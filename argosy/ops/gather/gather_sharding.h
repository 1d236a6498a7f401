// How ops that take or put rows by number are sharded: along numbers, and along the dimensions of a row. What rows a
// shard of the table has is nothing that a number knows, so the table's own rows stay whole (FactorRole::kRows).
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> gather_v2_sharding(const ShapeContext& c);        // GatherV2
Result<ShardingRule> gather_grad_sharding(const ShapeContext& c);      // _GatherGrad
Result<ShardingRule> resource_gather_sharding(const ShapeContext& c);  // ResourceGather
Result<ShardingRule> gather_nd_sharding(const ShapeContext& c);        // GatherNd, ResourceGatherNd
Result<ShardingRule> scatter_nd_sharding(const ShapeContext& c);       // ScatterNd
// Ops that change rows of their first input, a tensor or a variable: TensorScatterMax, ScatterNdUpdate.
Result<ShardingRule> scatter_nd_into_sharding(const ShapeContext& c);
// The same where the result is linear in both: TensorScatterAdd, TensorScatterUpdate.
Result<ShardingRule> linear_scatter_nd_into_sharding(const ShapeContext& c);
Result<ShardingRule> one_hot_sharding(const ShapeContext& c);

}  // namespace argosy
