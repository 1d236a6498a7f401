#include "argosy/ops/collective/reduction_chunks.h"

#include <algorithm>
#include <span>

#include "argosy/ops/collective/shard_batch.h"

namespace argosy {

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
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ends[i] = shard_batch(examples, weights, static_cast<std::int64_t>(i))->second;
  }
  return ends;
}

}  // namespace argosy
