// What broadcasting says of two shapes given as lists of sizes. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace argosy::internal {

struct BroadcastAxes {
  std::vector<std::int64_t> shape;  // of the result
  std::vector<std::int64_t> x_repeated,
      y_repeated;  // axes of the result each is summed over by its gradient, ascending
};

// None when they do not broadcast. As TensorFlow's: equal shapes sum over nothing; otherwise an axis of size 1 in both
// counts for both.
std::optional<BroadcastAxes> broadcast_axes(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y);

}  // namespace argosy::internal
