#include "argosy/ops/broadcast/broadcast_rules.h"

#include <algorithm>

namespace argosy::internal {

std::optional<BroadcastAxes> broadcast_axes(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) {
  if (x == y) return BroadcastAxes{.shape = x};  // as TensorFlow's: they reduce no axis, of size 1 or not
  const std::size_t rank = std::max(x.size(), y.size());
  BroadcastAxes axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool x_is_shorter = i + x.size() < rank, y_is_shorter = i + y.size() < rank;
    const std::int64_t a = x_is_shorter ? 1 : x[i + x.size() - rank];
    const std::int64_t b = y_is_shorter ? 1 : y[i + y.size() - rank];
    if (a != b && a != 1 && b != 1) return std::nullopt;
    if (a == 1) axes.x_reduced.push_back(static_cast<std::int64_t>(i));
    if (b == 1) axes.y_reduced.push_back(static_cast<std::int64_t>(i));
    axes.shape.push_back(a == 1 ? b : a);
  }
  return axes;
}

}  // namespace argosy::internal
