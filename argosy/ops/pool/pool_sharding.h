// Sharding rules of pooling in any number of dimensions: the batch can be sharded, and channels where no window spans
// several.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> max_pool_sharding(const ShapeContext& c);            // MaxPool, MaxPoolV2, MaxPool3D
Result<ShardingRule> avg_pool_sharding(const ShapeContext& c);            // AvgPool, AvgPool3D
Result<ShardingRule> max_pool_grad_sharding(const ShapeContext& c);       // …Grad, …GradV2
Result<ShardingRule> max_pool_grad_grad_sharding(const ShapeContext& c);  // …GradGrad, …GradGradV2
Result<ShardingRule> avg_pool_grad_sharding(const ShapeContext& c);       // AvgPoolGrad, AvgPool3DGrad
Result<ShardingRule> max_pool_with_argmax_sharding(
    const ShapeContext& c);  // the indices count within one image, or within all
Result<ShardingRule> max_pool_grad_with_argmax_sharding(const ShapeContext& c);

}  // namespace argosy
