// Collectives between a value and its shards: what moves a value from one layout to another.
//
//   partial sums ──► reduce_scatter ──► shard of the sum          (all_reduce, then one's own rows: the same bits)
//   shard        ──► all_gather     ──► the global value
//   shard along one dimension ──► all_to_all ──► shard along another
//
// A value of n rows along a dimension is split by integer weights, one a rank, as a batch is (shard_batch.h). Shards may be
// uneven, and empty. Lists of values travel in one collective. Nodes of one group meet within a step, as all_reduce's do.
// Along a dimension other than the first, values are transposed before and after. Their rank must be known then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A rank's place in a group whose ranks hold shards.
struct ShardGroup {
  std::string group;                       // equal on all members
  std::int64_t rank = 0, size = 1;         // the member's place, and how many there are
  std::vector<std::int64_t> weights = {};  // of the ranks' shards; empty: equal
};
// What the ranks bring to a reduce-scatter: as in AllReduceSpec.
struct Contributions {
  std::vector<std::int64_t> shards = {};  // the logical shards that this rank brings; empty: one of its own
  std::int64_t total = 0;                 // logical shards of all members; 0: as many as members
};

// The rank's shard, along `dim`, of each sum. With `from.shards` the bits are those of all_reduce over the same shards.
std::vector<Value> reduce_scatter(const std::vector<Value>& values, const ShardGroup& to,
                                  const Contributions& from = {}, int dim = 0,
                                  std::string_view name = "reduce_scatter");

// The global values, from the rank's shards along `dim`. `sizes`: of each global value along `dim`, an int64 vector.
std::vector<Value> all_gather(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int dim = 0,
                              std::string_view name = "all_gather");
// The same, of sizes that are known.
std::vector<Value> all_gather(const std::vector<Value>& parts, const std::vector<std::int64_t>& sizes,
                              const ShardGroup& of, int dim = 0, std::string_view name = "all_gather");

// The rank's shards along `split`, from its shards along `concat`, another dimension. `sizes`: of each global value along
// `concat`, an int64 vector.
std::vector<Value> all_to_all(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int concat, int split,
                              std::string_view name = "all_to_all");

// Of `size` rows (int32 or int64), how many shard `index` has; output 1: the first of them.
Value local_size(Value size, const std::vector<std::int64_t>& weights, std::int64_t index,
                 std::string_view name = "local_size");

// Runs after the ranks have written their own shard of some variables' elements, of any shape. Gives each rank the other
// shards, in place. `variables`: references or handles, all of dtype T. Nothing may read the variables meanwhile.
Value all_gather_variables(const std::vector<Value>& variables, DType dtype, const ShardGroup& of,
                           std::string_view name = "all_gather_variables");

}  // namespace argosy
