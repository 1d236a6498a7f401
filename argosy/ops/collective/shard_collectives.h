// Collectives between a value and its shards: what moves a value from one layout to another.
//
//   partial sums ──► reduce_scatter ──► shard of the sum          (the same bits as its rows of all_reduce)
//   shard        ──► all_gather     ──► the global value
//   shard along one dimension ──► all_to_all ──► shard along another
//
// A value of n rows along a dimension is split by integer weights, one per rank, as a batch is (shard_batch.h). Shards
// may be uneven, and empty. One collective takes a list of values. The nodes of a group find each other within a step,
// as those of all_reduce. Along a dimension other than the first, values are transposed before and after; their rank
// must then be known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A group whose ranks hold shards, and a rank of it.
struct ShardGroup {
  std::string group;                       // equal on all members
  std::int64_t rank = 0, size = 1;         // the member's place, and how many there are
  std::vector<std::int64_t> weights = {};  // of the ranks' shards; empty: equal
};
// The contributions to a reduce-scatter, as in AllReduceSpec.
struct Contributions {
  std::vector<std::int64_t> shards = {};  // the logical shards that this rank contributes; empty: one of its own
  std::int64_t total = 0;                 // logical shards of all members; 0: as many as members
};

// Returns the rank's shard, along `dim`, of each sum. With `from.shards` the bits are those of all_reduce over the same
// shards.
std::vector<Value> reduce_scatter(const std::vector<Value>& values, const ShardGroup& to,
                                  const Contributions& from = {}, int dim = 0,
                                  std::string_view name = "reduce_scatter");

// Returns the global values, from the rank's shards along `dim`. `sizes`: the size of each global value along `dim`, an
// int64 vector.
std::vector<Value> all_gather(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int dim = 0,
                              std::string_view name = "all_gather");
// The same, for sizes that are known.
std::vector<Value> all_gather(const std::vector<Value>& parts, const std::vector<std::int64_t>& sizes,
                              const ShardGroup& of, int dim = 0, std::string_view name = "all_gather");

// Returns the rank's shards along `split`, from its shards along `concat`, another dimension. `sizes`: the size of each
// global value along `concat`, an int64 vector.
std::vector<Value> all_to_all(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int concat, int split,
                              std::string_view name = "all_to_all");

// Returns how many of `size` rows (int32 or int64) shard `index` has. Output 1 is the first of them.
Value local_size(Value size, const std::vector<std::int64_t>& weights, std::int64_t index,
                 std::string_view name = "local_size");

// Gathers variables in place, after each rank has written its own shard of their elements (variables of any shape).
// Each rank receives the other shards. `variables`: references or handles, all of dtype T. Nothing may read the
// variables meanwhile.
Value all_gather_variables(const std::vector<Value>& variables, DType dtype, const ShardGroup& of,
                           std::string_view name = "all_gather_variables");

}  // namespace argosy
