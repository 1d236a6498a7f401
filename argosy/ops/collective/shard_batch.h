// Who gets which rows of a global batch: split exactly, by integer weights, the same wherever it is asked.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "argosy/base/status.h"
#include "argosy/op/definition/op_def.h"

namespace argosy {

// Rows [first, second) of `batch` that belong to shard `index`. The batch is split as sums over shards are added, by
// halving: of n shards the first bit_floor(n - 1) take ceil(rows * their weights / all weights), and so on within. So
// what two devices have is split by four as it would be by eight devices. Equal weights differ by at most one row; shard
// 0 is the last to be empty. INVALID_ARGUMENT for an index without a weight, weights that are negative or all zero, or
// a product beyond int64.
Result<std::pair<std::int64_t, std::int64_t>> shard_batch(std::int64_t batch, std::span<const std::int64_t> weights,
                                                          std::int64_t index);

// What a node reads of the rows of its first input.
enum class RowsRead : std::uint8_t {
  kAll,    // or nobody knows
  kShard,  // those of the shard that its attributes name
  kNone,   // it asks for the shape alone
};
RowsRead rows_read_by(const OpDef& op);

}  // namespace argosy
