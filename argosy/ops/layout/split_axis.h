// Checks the axis of a Split, with TensorFlow's message. Private to this folder.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// INVALID_ARGUMENT unless `axis` is one of `rank` axes, counted from the end where it is negative.
inline Status check_split_axis(std::int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return ok_status();
  return invalid_argument("-input rank(", -rank, ") <= split_dim < input rank (", rank, "), but got ", axis)
      .with_id("ARG-SHAPE-003");
}

}  // namespace argosy
