// How convolutions of any number of dimensions are sharded: along images, and along channels where there are no groups.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> conv_sharding(const ShapeContext& c);
Result<ShardingRule> conv_backprop_input_sharding(const ShapeContext& c);
Result<ShardingRule> conv_backprop_filter_sharding(const ShapeContext& c);
Result<ShardingRule> depthwise_backprop_input_sharding(const ShapeContext& c);

}  // namespace argosy
