// Checks of BroadcastTo's inputs, for every kind of device. Internal to argosy/ops.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Returns the output's shape, read from input 1, a vector in host memory. INVALID_ARGUMENT if input 0 does not
// broadcast to it.
inline Result<Shape> check_broadcast_to(const KernelContext& c) {
  const Shape& x = c.input(0).shape();
  if (c.input(1).shape().rank() != 1) {
    return invalid_argument("BroadcastTo: shape must be a vector, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Shape shape, to_shape(c.input(1), "BroadcastTo: shape"));
  if (shape == x) return shape;
  const auto both = broadcast(x, shape);
  if (both.ok() && *both == shape) return shape;
  return invalid_argument("Incompatible shapes: ", x, " vs. ", shape, ": BroadcastTo: shape ", x,
                          " does not broadcast to ", shape)
      .with_id("ARG-SHAPE-002");
}

}  // namespace argosy
