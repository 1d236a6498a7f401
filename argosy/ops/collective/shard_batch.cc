#include "argosy/ops/collective/shard_batch.h"

#include <bit>
#include <limits>
#include <numeric>

namespace argosy {

namespace {

using Rows = std::pair<std::int64_t, std::int64_t>;

// Returns the rows of shard `index`, if shards [0, n) have `rows` together. If all weights are 0, all shards but the
// last one are empty.
Rows rows_of_shard(Rows rows, std::span<const std::int64_t> weights, std::size_t index) {
  if (weights.size() == 1) return rows;
  // The largest power of two below n: sums over shards are added in this tree.
  const std::size_t half = std::bit_floor(weights.size() - 1);
  const auto sum = [](std::span<const std::int64_t> some) {
    return std::accumulate(some.begin(), some.end(), std::int64_t{0});
  };
  const std::int64_t left = sum(weights.first(half)), total = left + sum(weights.subspan(half));
  const std::int64_t count = total == 0 ? 0 : ((rows.second - rows.first) * left + total - 1) / total;
  const std::int64_t cut = rows.first + count;
  if (index < half) return rows_of_shard({rows.first, cut}, weights.first(half), index);
  return rows_of_shard({cut, rows.second}, weights.subspan(half), index - half);
}

}  // namespace

Result<std::pair<std::int64_t, std::int64_t>> shard_batch(std::int64_t batch, std::span<const std::int64_t> weights,
                                                          std::int64_t index) {
  if (index < 0 || index >= static_cast<std::int64_t>(weights.size())) {
    return invalid_argument("there is no shard ", index, " of ", weights.size());
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < 0 || weights[i] > (std::int64_t{1} << 31)) {
      return invalid_argument("the weight of shard ", i, " is ", weights[i], "; it must be in [0, 2^31]");
    }
    total += weights[i];
  }
  if (total == 0) return invalid_argument("all ", weights.size(), " shards of the batch have weight 0");
  if (batch < 0 || batch > (std::numeric_limits<std::int64_t>::max() - total) / total) {
    return invalid_argument("a batch of ", batch, " cannot be sharded by weights that sum to ", total);
  }
  return rows_of_shard({0, batch}, weights, static_cast<std::size_t>(index));
}

RowsRead rows_read_by(const OpDef& op) {
  if (op.name == "_ShardBatch") return RowsRead::kShard;
  return op.reads == Reads::kValues ? RowsRead::kAll : RowsRead::kNone;
}

}  // namespace argosy
