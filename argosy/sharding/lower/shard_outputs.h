// Outputs that are not a node's own: shards of feeds and draws, weighted means, global shapes. Internal to lower/.
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// True for random numbers of which each device draws its block of the one stream (ops/random/random_shard.h).
bool draws_blocks(const LowerState& s, NodeId id);
// True if they are drawn once for all devices, which then take their shards.
bool draws_whole(const LowerState& s, NodeId id);
// The node that draws the block of a device. REQUIRES: draws_blocks().
Result<NodeId> block_of_draws(LowerState& s, NodeId id, int device);

// True if the node reads a shape of which a device has a shard only.
bool reads_shape_of_shard(const LowerState& s, NodeId id);
// True if `add_outputs` gave such a node's outputs from the batch's size.
bool gives_known_sizes(const LowerState& s, NodeId id);

// A value with the shape of endpoint e, made of device d's shard `own` alone: for who reads only the shape, in a loop.
Result<Value> padded_shard(LowerState& s, Value own, Endpoint e, const Placement& p, int d);

}  // namespace argosy
