#include "argosy/planner/candidates.h"

#include <algorithm>

namespace argosy {

namespace {

// Returns the fastest `count` devices, in their order in `devices`.
std::vector<DeviceSpec> fastest(const std::vector<DeviceSpec>& devices, int count) {
  std::vector<std::size_t> order(devices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return devices[a].speed > devices[b].speed; });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  std::vector<DeviceSpec> chosen;
  for (const std::size_t i : order) chosen.push_back(devices[i]);
  return chosen;
}

}  // namespace

std::vector<Candidate> candidates(const std::vector<DeviceSpec>& devices, std::int64_t batch) {
  const int all = static_cast<int>(devices.size());
  std::vector<Candidate> found;
  for (const int accumulate : {1, 2, 4, 8}) {
    for (const int zero : {0, 1}) {
      for (int dp = 1; dp <= all; dp = dp < all ? std::min(2 * dp, all) : all + 1) {
        const StrategySpec spec{.dp = dp, .accumulate = accumulate, .zero = zero};
        if ((zero > 0 && dp == 1) || !spec.empty_micro_batches(dp, batch).empty()) continue;
        found.push_back({.strategy = spec, .devices = fastest(devices, dp)});
      }
    }
  }
  return found;
}

Result<Candidate> candidate_of(const StrategySpec& strategy, const std::vector<DeviceSpec>& devices) {
  const int all = static_cast<int>(devices.size());
  ARGOSY_RETURN_IF_ERROR(strategy.check(all));
  Candidate candidate{.strategy = strategy, .devices = devices};
  candidate.strategy.dp = all;
  return candidate;
}

}  // namespace argosy
