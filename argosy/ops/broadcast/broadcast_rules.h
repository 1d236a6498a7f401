// The shape to which two shapes broadcast, and the axes over which gradients are summed. Private to this folder.
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

// nullopt if the shapes do not broadcast. As in TensorFlow, equal shapes sum over no axis. Otherwise an axis of size 1
// in both is summed over for both.
std::optional<BroadcastAxes> broadcast_axes(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y);

}  // namespace argosy::internal
