// Computes the rows of a sharded dimension that a shard has.
//
//   size 12, S(0)/2*3 over 2 devices: 2 rounds of 2 items of 3 rows
//     device 0: rows 0-2, 6-8      device 1: rows 3-5, 9-11
//
// Items are cut by the weights of the axis, as shard_batch() cuts a batch.
#pragma once

#include <cstdint>

#include "argosy/sharding/mesh.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// In each round of `step` rows a shard has the rows [begin, end).
struct Cut {
  std::int64_t rounds = 1, step = 0, begin = 0, end = 0;
  std::int64_t size() const { return rounds * (end - begin); }  // of the shard along the dimension
};

// Returns the rows of shard `index`, for a dimension of this global size. REQUIRES: p.is_shard(). INVALID_ARGUMENT
// ARG-SHARD-012: the size is not a multiple of rounds * unit.
Result<Cut> cut_dim(const MeshAxis& axis, const Placement& p, std::int64_t size, int index);

}  // namespace argosy
