#include "argosy/ops/collective/shard_batch.h"

#include <bit>
#include <limits>
#include <numeric>

#include "argosy/ops/collective/reduction_chunks.h"

namespace argosy {

namespace {

using Rows = std::pair<std::int64_t, std::int64_t>;

// Of `rows`, which shards [0, n) have together, those of shard `index`. REQUIRES: the weights' sum is above 0.
Rows halve(Rows rows, std::span<const std::int64_t> weights, std::size_t index) {
  if (weights.size() == 1) return rows;
  const std::size_t half = std::bit_floor(weights.size() - 1);  // as sums over shards are added
  const auto sum = [](std::span<const std::int64_t> some) {
    return std::accumulate(some.begin(), some.end(), std::int64_t{0});
  };
  const std::int64_t left = sum(weights.first(half)), total = left + sum(weights.subspan(half));
  // Where nobody weighs anything there is nothing to shard, either.
  const std::int64_t count = total == 0 ? 0 : ((rows.second - rows.first) * left + total - 1) / total;
  const std::int64_t cut = rows.first + count;
  if (index < half) return halve({rows.first, cut}, weights.first(half), index);
  return halve({cut, rows.second}, weights.subspan(half), index - half);
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
  return halve({0, batch}, weights, static_cast<std::size_t>(index));
}

ReductionChunks ReductionChunks::of(const AttrMap& attrs) {
  if (const auto* chunks = attrs.find_as<std::int64_t>(kReduceChunksAttr)) {
    const auto turns = std::clamp<std::int64_t>(attrs.get_or<std::int64_t>(kReduceTurnsAttr, 1), 1, kReductionChunks);
    return {static_cast<int>(*chunks), true, static_cast<int>(turns)};
  }
  if (const auto* chunks = attrs.find_as<std::int64_t>(kRowChunksAttr)) return {static_cast<int>(*chunks), false};
  return {};
}

ChunkEnds chunk_ends(std::int64_t examples, int chunks) {
  ChunkEnds ends{};
  const std::array<std::int64_t, kReductionChunks> equal = {1, 1, 1, 1, 1, 1, 1, 1};
  const auto weights = std::span(equal).first(static_cast<std::size_t>(chunks));
  for (std::size_t i = 0; i < weights.size(); ++i) ends[i] = halve({0, examples}, weights, i).second;
  return ends;
}

RowsRead rows_read_by(std::string_view op) {
  if (op == "_ShardBatch") return RowsRead::kShard;
  for (const std::string_view sizes : {"_ShardWeight", "Shape", "Size", "Rank"}) {
    if (op == sizes) return RowsRead::kNone;
  }
  return RowsRead::kAll;
}

}  // namespace argosy
