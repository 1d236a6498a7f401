#include "argosy/ops/optimizer/update_shard.h"

#include "argosy/ops/collective/shard_batch.h"

namespace argosy {

std::optional<UpdateShard> UpdateShard::of(const AttrMap& attrs) {
  const auto* const weights = attrs.find_as<std::vector<std::int64_t>>(kUpdateShardWeights);
  if (weights == nullptr) return std::nullopt;
  return UpdateShard{*weights, attrs.get_or<std::int64_t>(kUpdateShardIndex, 0)};
}

Result<Tensor> UpdateShard::elements_of(const Tensor& variable) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto mine, shard_batch(variable.elements(), weights, index));
  return variable.reshaped({variable.elements()}).rows(mine.first, mine.second);
}

Result<std::int64_t> UpdateShard::size(std::int64_t elements) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto mine, shard_batch(elements, weights, index));
  return mine.second - mine.first;
}

}  // namespace argosy
