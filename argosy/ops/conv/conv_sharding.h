// Sharding rules of convolutions with any number of dimensions: along the batch, and along channels unless there are
// groups.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> conv_sharding(const ShapeContext& c);
Result<ShardingRule> conv_backprop_input_sharding(const ShapeContext& c);
Result<ShardingRule> conv_backprop_filter_sharding(const ShapeContext& c);
Result<ShardingRule> depthwise_backprop_input_sharding(const ShapeContext& c);

}  // namespace argosy
