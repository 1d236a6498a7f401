// The geometry of windows over volumes, from an op's attributes and shapes. Private to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "argosy/op/definition/attr.h"
#include "argosy/ops/conv3d/axis_windows.h"
#include "argosy/tensor/shape.h"

namespace argosy::windows3d {

// Windows along three axes, between batch and channels. Images are volumes of depth 1.
struct Geometry {
  std::int64_t batch = 0, channels = 0;
  std::array<Windows, 3> axes;
  std::int64_t windows() const { return axes[0].count * axes[1].count * axes[2].count; }
  std::int64_t cells() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t window_cells() const { return axes[0].window * axes[1].window * axes[2].window; }
};

struct Attributes {
  std::vector<std::int64_t> window;  // of pools, with batch and channels; empty if a filter has it
  std::vector<std::int64_t> strides, rates;
  bool same = false;
  bool channels_first = false;  // the op's layout; all other fields are in the order with channels last
  int spatial = 3;
};
// Reads and checks an op's attributes. INVALID_ARGUMENT for windows over batch or channels.
Result<Attributes> read_attributes(std::string_view op, const AttrMap& attrs);

// Returns the windows over an input of `sizes`, [batch, …, channels]. `filter`: the sizes of the filter's spatial axes,
// if there is a filter. Unknown sizes (below 0) give counts below 0.
Result<Geometry> place_windows(std::string_view op, const Attributes& a, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& filter);
std::vector<std::int64_t> output_sizes(const Geometry& g, const Attributes& a, std::int64_t channels);

// Reorders one value per axis from NCDHW to NDHWC; channels_second() does the reverse.
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
