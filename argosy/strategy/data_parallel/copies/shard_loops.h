// Loops of devices with several shards: each shard has a copy of the whole loop, in a frame of its own.
//
//   shard 0:  Enter ─► Merge ─► Switch ─► body ─► Exit     frame "loop"
//                        LoopCond ─┘
//   shard 1:  Enter ─► Merge ─► Switch ─► body ─► Exit     frame "loop/replica_1"
//                        LoopCond ─┘
//
// The plan has what does not see the batch once per device: predicates, counters, stacks of counters. A frame cannot be
// shared by two shards, so these are copied per shard as well. All copies have the same values.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// The plan's kinds, with kSharded for what loops and their stacks and TensorArrays need once per shard. Without turns: the
// plan's. UNIMPLEMENTED ARG-DP-003:
// - a loop writes a variable or keeps other state, which copies would do once per shard;
// - shards add up a value inside a loop, in frames that do not meet.
Result<std::vector<ReplicaKind>> kinds_with_loops(const Graph& graph, const ReplicationPlan& plan,
                                                  const ReplicaLayout& layout);

}  // namespace argosy
