// Windows that slide over images or volumes, for ExtractImagePatches and the like. Internal to the image family.
#pragma once

#include <vector>

#include "argosy/op/definition/attr.h"

namespace argosy::image {

// Sizes, strides and rates for each of 2 or 3 axes of pixels.
struct Windows {
  // Reads ksizes, strides, rates (if the op has them) and padding.
  static Result<Windows> make(const AttrMap& attrs, int axes);
  // Returns the number of windows along an axis of this size.
  Result<std::int64_t> count(std::size_t axis, std::int64_t size) const;
  // Returns the padding before the first pixel.
  std::int64_t before(std::size_t axis, std::int64_t size) const;

  std::vector<std::int64_t> sizes, strides, rates;
  bool same = false;
};

}  // namespace argosy::image
