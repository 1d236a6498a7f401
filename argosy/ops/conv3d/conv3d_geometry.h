// What attributes and shapes say of the windows of an op of this folder. Private to it.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/ops/conv3d/axis_windows.h"
#include "argosy/tensor/shape.h"

namespace argosy::windows3d {

// Three axes between batch and channels; images are one plane deep.
struct Geometry {
  std::int64_t batch = 0, channels = 0;
  std::array<Windows, 3> axes;
  std::int64_t windows() const { return axes[0].count * axes[1].count * axes[2].count; }
  std::int64_t cells() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t window_cells() const { return axes[0].window * axes[1].window * axes[2].window; }
};

struct Attributes {
  std::vector<std::int64_t> window;  // of pools, with batch and channels; empty where a filter says it
  std::vector<std::int64_t> strides, rates;
  bool same = false;
  bool channels_first = false;  // of the op; what is said above and below is in the order with channels last
  int spatial = 3;
};
// INVALID_ARGUMENT for windows over batch or channels.
Result<Attributes> read_attributes(std::string_view op, const AttrMap& attrs);

// Windows over sizes [batch, …, channels]; `filter`: sizes of a window's axes, where there is a filter. Unknown sizes
// (below 0) leave counts below 0.
Result<Geometry> place_windows(std::string_view op, const Attributes& a, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& filter);
std::vector<std::int64_t> output_sizes(const Geometry& g, const Attributes& a, std::int64_t channels);

// Sizes (or anything else there is one of per axis) of NCDHW in the order NDHWC, and back.
template <typename T>
std::vector<T> channels_last(std::vector<T> v) {
  std::rotate(v.begin() + 1, v.begin() + 2, v.end());
  return v;
}
template <typename T>
std::vector<T> channels_second(std::vector<T> v) {
  std::rotate(v.begin() + 1, v.end() - 1, v.end());
  return v;
}

}  // namespace argosy::windows3d
