// Lowering for devices that have several shards and compute them in turns. Internal to lower/.
//
//   gpu:0   shard 0 ─► gradient ─┐             gpu:1   shard 2 ─► gradient ─┐
//           shard 1 ─► gradient ─┴► sum ─┐             shard 3 ─► gradient ─┴► sum ─┐
//                                        └────────────── all-reduce ────────────────┘ ─► update, once a device
//
// A node has a copy per shard if an input or output is not replicated, else a copy per device. Exceptions, per shard
// too:
// * all nodes of a loop with such a node, predicates included: two shards cannot share a frame;
// * stacks and TensorArrays that such nodes use;
// * nodes through which nodes of a shard only wait for each other (tf.tuple);
// * stateless nodes that read an equal value with a copy per shard;
// * constants and forwarding nodes that wait for nodes of a shard, and that only nodes of shards read.
#pragma once

#include <vector>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Marks a shard's copy with the turn of the shard (ops/collective/turns.h).
void mark_turn(LowerState& s, NodeId copy, int shard);

// Returns how many consecutive shards a device adds up before the all-reduce, for values of this dtype. It is 1 for
// 16-bit floats: all-reduces add these in float32 and round once, so every shard's value takes part.
int shards_per_sum(const LowerState& s, DType dtype);

// Adds nodes that sum a value over the shards [first, last) of one device as its turns end. `values`: by shard. The
// tree of additions is that of all-reduces, so both give the same bits. At most log2(turns) + 1 sums are alive.
Value sum_of_turns(LowerState& s, int first, int last, const std::vector<Value>& values, std::string_view name);

// Returns the nodes of the base graph that read, or wait for, a sum over all turns that depends on variables, by
// ascending id. Because of them the turns run side by side, and activations of all turns are alive.
std::vector<NodeId> coupled_turns(const LowerState& s);

}  // namespace argosy
