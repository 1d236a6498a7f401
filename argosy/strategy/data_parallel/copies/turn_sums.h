// Sums over the shards of one device, made as its turns end.
//
//   turn 0  g0 ─┐
//   turn 1  g1 ─┴► g0 + g1 ───────────┐
//   turn 2  g2 ─┐                     ├► (g0 + g1) + (g2 + g3) ─► all-reduce
//   turn 3  g3 ─┴► g2 + g3 ───────────┘
//
// The tree is the one in which an all-reduce adds shards, so the bits are those of an all-reduce over all of them. At most
// log2(turns) + 1 sums are alive at once, instead of the values of all turns.
#pragma once

#include <functional>
#include <string_view>

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// How many consecutive shards a device adds up by itself where the values have this dtype. All-reduces add values of 16
// bits in float32 and round once: of these, every shard's value travels.
int shards_per_sum(const ReplicaLayout& layout, DType dtype);

// The sum of `value(s)` for the shards [first, last) of one device.
Value sum_of_turns(ReplicaBuild& b, int first, int last, const std::function<Value(int shard)>& value,
                   std::string_view name);

}  // namespace argosy
