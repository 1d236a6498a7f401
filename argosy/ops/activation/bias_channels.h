// The channel axis of BiasAdd's tensors: the last one, or the second one for NCHW.
#pragma once

#include <cstdint>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/shape.h"

namespace argosy {

// A tensor seen as [outer, channels, inner].
struct BiasChannels {
  std::int64_t outer = 1, channels = 1, inner = 1;
};

// INVALID_ARGUMENT below rank 2.
inline Result<BiasChannels> channels_of(std::string_view op, const Shape& shape, bool nchw) {
  if (shape.rank() < 2) {
    return invalid_argument(op, ": input must have rank 2 or more, not shape ", shape).with_id("ARG-SHAPE-004");
  }
  const int axis = nchw ? 1 : shape.rank() - 1;
  BiasChannels c{.channels = shape[axis]};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < axis) c.outer *= shape[i];
    if (i > axis) c.inner *= shape[i];
  }
  return c;
}

}  // namespace argosy
