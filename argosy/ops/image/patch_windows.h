// Windows that slide over images or volumes, as ExtractImagePatches takes them. Internal to the image family.
#pragma once

#include <vector>

#include "argosy/op/definition/attr.h"

namespace argosy::image {

// Per axis of pixels: 2 or 3 of them.
struct Windows {
  // From ksizes, strides, rates (if the op has them) and padding.
  static Result<Windows> make(const AttrMap& attrs, int axes);
  // How many windows start along an axis of this size.
  Result<std::int64_t> count(std::size_t axis, std::int64_t size) const;
  // Padding before the first pixel.
  std::int64_t before(std::size_t axis, std::int64_t size) const;

  std::vector<std::int64_t> sizes, strides, rates;
  bool same = false;
};

}  // namespace argosy::image
