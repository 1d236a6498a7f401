#include "argosy/ops/collective/batch_share.h"

#include <limits>

namespace argosy {

Result<std::pair<std::int64_t, std::int64_t>> batch_share(std::int64_t batch, std::span<const std::int64_t> weights,
                                                          std::int64_t index) {
  if (index < 0 || index >= static_cast<std::int64_t>(weights.size())) {
    return invalid_argument("there is no share ", index, " of ", weights.size());
  }
  std::int64_t total = 0, before = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < 0 || weights[i] > (std::int64_t{1} << 31)) {
      return invalid_argument("the weight of share ", i, " is ", weights[i], "; it must be in [0, 2^31]");
    }
    if (static_cast<std::int64_t>(i) < index) before += weights[i];
    total += weights[i];
  }
  if (total == 0) return invalid_argument("all ", weights.size(), " shares of the batch have weight 0");
  if (batch < 0 || batch > (std::numeric_limits<std::int64_t>::max() - total) / total) {
    return invalid_argument("a batch of ", batch, " cannot be shared by weights that sum to ", total);
  }
  const auto end_of = [&](std::int64_t weight) { return (batch * weight + total - 1) / total; };
  return std::pair{end_of(before), end_of(before + weights[index])};
}

}  // namespace argosy
