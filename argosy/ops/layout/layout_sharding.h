// Sharding rules of ops that move elements: along the dimensions that they leave unchanged.
#pragma once

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

Result<ShardingRule> transpose_sharding(const ShapeContext& c);      // Transpose, ConjugateTranspose
Result<ShardingRule> concat_sharding(const ShapeContext& c);         // Concat
Result<ShardingRule> concat_v2_sharding(const ShapeContext& c);      // ConcatV2
Result<ShardingRule> split_sharding(const ShapeContext& c);          // Split
Result<ShardingRule> split_v_sharding(const ShapeContext& c);        // SplitV
Result<ShardingRule> pack_sharding(const ShapeContext& c);           // Pack
Result<ShardingRule> unpack_sharding(const ShapeContext& c);         // Unpack
Result<ShardingRule> slice_sharding(const ShapeContext& c);          // Slice
Result<ShardingRule> strided_slice_sharding(const ShapeContext& c);  // StridedSlice
Result<ShardingRule> strided_slice_grad_sharding(const ShapeContext& c);
Result<ShardingRule> pad_sharding(const ShapeContext& c);  // Pad, PadV2, MirrorPad, MirrorPadGrad
Result<ShardingRule> tile_sharding(const ShapeContext& c);
Result<ShardingRule> reverse_sharding(const ShapeContext& c);           // ReverseV2
Result<ShardingRule> reverse_sequence_sharding(const ShapeContext& c);  // ReverseSequence
Result<ShardingRule> roll_sharding(const ShapeContext& c);

}  // namespace argosy
