// Ops of data parallelism: a device's shard of the global batch, its shard weight, and sums over devices.
// argosy/strategy adds them to graphs. TensorFlow has no such ops, so their names start with '_'.
//
//   x ──► _ShardBatch ──► replica 0 … gradient ──┐
//   │                                            _AllReduce (one node a device, one group) ──► update
//   └───► _ShardBatch ──► replica 1 … gradient ──┘
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/ops/collective/shard_collectives.h"

namespace argosy {

// The rows of x in shard `index` of a split by `weights` (shard_batch.h); may be empty.
Value shard_batch(Value x, const std::vector<std::int64_t>& weights, std::int64_t index,
                  std::string_view name = "shard_batch");
// The fraction of the rows of x that shard `index` has, in [0, 1]; 0 for an empty batch.
Value shard_weight(Value x, const std::vector<std::int64_t>& weights, std::int64_t index, DType dtype,
                   std::string_view name = "shard_weight");
// x * factor; zeros if the factor is 0, whatever x holds. So the mean over an empty shard, which is NaN, adds nothing.
Value scale_nonempty(Value x, Value factor, std::string_view name = "scale_nonempty");

// The attributes of one rank's node of an elementwise sum over a group of `size` ranks. Each rank is on a device of its
// own. The nodes of a group find each other within a step by `group`; each rank has one node.
// * With `shards`, `values` holds the contributions of those logical shards, shard after shard. All shards of the group
//   (`total`) are summed in a fixed binary tree over their indices: the result does not depend on how they are spread
//   over ranks.
// * Without, each rank brings one contribution, and the backend may choose the order of additions.
struct AllReduceSpec {
  std::string group;                      // equal on all members
  std::int64_t rank = 0, size = 1;        // the member's place, and how many there are
  std::vector<std::int64_t> shards = {};  // the logical shards it contributes; empty: one of its own
  std::int64_t total = 0;                 // logical shards of all members; 0: as many as members
};
// Returns the sums, one for each value of a shard, in their order.
std::vector<Value> all_reduce(const std::vector<Value>& values, const AllReduceSpec& spec,
                              std::string_view name = "all_reduce");

}  // namespace argosy
