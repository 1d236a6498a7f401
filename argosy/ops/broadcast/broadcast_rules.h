// What broadcasting says of two shapes given as lists of sizes. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace argosy::internal {

struct BroadcastAxes {
  std::vector<std::int64_t> shape;  // of the result
  // Axes of the result, ascending: those that the gradient of x, or of y, is summed over.
  std::vector<std::int64_t> x_reduced, y_reduced;
};

// None when they do not broadcast. As TensorFlow's: equal shapes sum over nothing; otherwise an axis of size 1 in both
// counts for both.
std::optional<BroadcastAxes> broadcast_axes(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y);

}  // namespace argosy::internal
