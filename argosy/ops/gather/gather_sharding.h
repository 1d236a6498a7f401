// Sharding rules of ops that read or write rows by index: along the indices, and along the dimensions within a row. The
// rows of the table are not sharded (FactorRole::kRows), since an index does not say which shard has its row.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> gather_v2_sharding(const ShapeContext& c);        // GatherV2
Result<ShardingRule> gather_grad_sharding(const ShapeContext& c);      // _GatherGrad
Result<ShardingRule> resource_gather_sharding(const ShapeContext& c);  // ResourceGather
Result<ShardingRule> gather_nd_sharding(const ShapeContext& c);        // GatherNd, ResourceGatherNd
Result<ShardingRule> scatter_nd_sharding(const ShapeContext& c);       // ScatterNd
// Ops that write rows of their first input, a tensor or a variable: TensorScatterMax, ScatterNdUpdate.
Result<ShardingRule> scatter_nd_into_sharding(const ShapeContext& c);
// The same where the result is linear in both: TensorScatterAdd, TensorScatterUpdate.
Result<ShardingRule> linear_scatter_nd_into_sharding(const ShapeContext& c);
Result<ShardingRule> one_hot_sharding(const ShapeContext& c);

}  // namespace argosy
