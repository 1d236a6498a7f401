// Devices with several shards, which they compute in turns. Internal to lower/.
//
//   gpu:0   shard 0 ─► gradient ─┐             gpu:1   shard 2 ─► gradient ─┐
//           shard 1 ─► gradient ─┴► sum ─┐             shard 3 ─► gradient ─┴► sum ─┐
//                                        └────────────── all-reduce ────────────────┘ ─► update, once a device
//
// A node exists once a shard, if it reads or gives anything but replicated values; else once a device. A loop is a shard's
// own as a whole, predicates included, and so is a stack or TensorArray: two shards cannot share a frame.
// A node that only waits for a shard's nodes, and a shard's nodes for it (tf.tuple), is the shard's, too.
#pragma once

#include <vector>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Marks what a shard's copy computes with its turn (ops/collective/turns.h).
void mark_turn(LowerState& s, NodeId copy, int shard);

// How many consecutive shards a device adds up by itself where the values have this dtype. All-reduces add values of 16
// bits in float32 and round once: of these, every shard's value travels.
int shards_per_sum(const LowerState& s, DType dtype);

// The sum of a value over the shards [first, last) of one device, made as its turns end. `values`: by shard. The tree is
// that of all-reduces, so the bits are those of an all-reduce over all of them. At most log2(turns) + 1 sums are alive.
Value sum_of_turns(LowerState& s, int first, int last, const std::vector<Value>& values, std::string_view name);

// Nodes of the base graph that read, or wait for, a sum over all turns which was computed with variables. Then the turns run side by
// side, and activations of all of them are alive. In the order of the graph.
std::vector<NodeId> coupled_turns(const LowerState& s);

}  // namespace argosy
