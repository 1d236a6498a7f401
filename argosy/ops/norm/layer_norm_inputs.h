// Checks of the inputs of layer normalisation, for every kind of device. Private to this folder.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// x as rows of n numbers along its last axis.
struct LayerNormRows {
  std::int64_t rows = 0, n = 0;

  // INVALID_ARGUMENT unless inputs [first, last) are vectors of n.
  static Result<LayerNormRows> of(const KernelContext& c, std::string_view op, const Shape& x, int first, int last) {
    if (x.rank() == 0) return invalid_argument(op, ": x must have an axis").with_id("ARG-SHAPE-004");
    for (int i = first; i < last; ++i) {
      if (c.input(i).shape() == Shape{x.back()}) continue;
      return invalid_argument(op, ": input ", i, " of shape ", c.input(i).shape(), " for rows of ", x.back())
          .with_id("ARG-SHAPE-014");
    }
    return LayerNormRows{x.back() == 0 ? 0 : x.elements() / x.back(), x.back()};
  }
};

// Checks _LayerNorm(x, scale, offset).
inline Result<LayerNormRows> check_layer_norm(const KernelContext& c) {
  return LayerNormRows::of(c, "_LayerNorm", c.input(0).shape(), 1, 3);
}

// Checks _LayerNormGrad(dy, x, scale).
inline Result<LayerNormRows> check_layer_norm_grad(const KernelContext& c) {
  const Shape &dy = c.input(0).shape(), &x = c.input(1).shape();
  if (!(dy == x)) {
    return invalid_argument("_LayerNormGrad: dy and x must have one shape, not ", dy, " and ", x)
        .with_id("ARG-SHAPE-013");
  }
  return LayerNormRows::of(c, "_LayerNormGrad", x, 2, 3);
}

}  // namespace argosy
