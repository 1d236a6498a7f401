// Outputs of copies that new nodes make: shards of feeds and of random draws, weighted means, global shapes. Internal
// to lower/.
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// True if each shard draws its own block of the global random stream (ops/random/random_shard.h).
bool draws_blocks(const LowerState& s, NodeId id);
// True if the random numbers of a sharded node are drawn once, and every shard slices them.
bool draws_whole(const LowerState& s, NodeId id);
// Adds the node that draws the block of a shard. REQUIRES: draws_blocks().
Result<NodeId> block_of_draws(LowerState& s, NodeId id, int device);

// True if the node reads only the shape of an input that is sharded.
bool reads_shape_of_shard(const LowerState& s, NodeId id);
// True if the outputs of such a node are functions of the batch size: add_outputs() computes them on the host.
bool gives_known_sizes(const LowerState& s, NodeId id);

// Returns shard d's value `own` of e, padded with zeros to the global shape. For nodes in a loop that read only the
// shape.
Result<Value> padded_shard(LowerState& s, Value own, Endpoint e, const Placement& p, int d);

}  // namespace argosy
