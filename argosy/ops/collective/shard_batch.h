// How a global batch is split into shards by integer weights: exactly, and the same wherever it is computed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "argosy/base/status.h"
#include "argosy/op/definition/op_def.h"

namespace argosy {

// Returns the rows [first, second) of `batch` that belong to shard `index`. The batch is split by halving, as sums over
// shards are added. Of n shards, the first bit_floor(n - 1) take ceil(rows * their weights / all weights), and so on
// within each half. So the rows of two devices split by four as they would by eight devices.
// Shards of equal weight differ by at most one row; shard 0 is the last to be empty. INVALID_ARGUMENT for an index
// without a weight, weights that are negative or all zero, or a product beyond int64.
Result<std::pair<std::int64_t, std::int64_t>> shard_batch(std::int64_t batch, std::span<const std::int64_t> weights,
                                                          std::int64_t index);

// Which rows of its first input a node reads.
enum class RowsRead : std::uint8_t {
  kAll,    // or unknown
  kShard,  // those of the shard that its attributes name
  kNone,   // it reads the shape alone
};
RowsRead rows_read_by(const OpDef& op);

}  // namespace argosy
