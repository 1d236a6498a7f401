// Checks of the inputs of Cumsum, Cumprod and similar ops, for every kind of device. Internal to argosy/ops.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// The scanned axis is input 1, a scalar in host memory. INVALID_ARGUMENT where input 0 has no such axis.
inline Result<int> check_scan_axis(const KernelContext& c, std::string_view op) {
  const int rank = c.input(0).shape().rank();
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument(op, ": axis must be a scalar, not ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t axis, to_int64(c.input(1), op));
  if (axis < -rank || axis >= rank) {
    return invalid_argument("ScanOp: Expected scan axis in the range [", -rank, ", ", rank, "), but got ", axis, ": ",
                            op, ": axis ", axis, " is outside");
  }
  return normalize_axis(axis, rank, op);
}

// x as [outer, count, inner], scanned along the middle axis. REQUIRES: x has elements.
struct ScanSizes {
  std::int64_t outer = 1, count = 0, inner = 0;
  ScanSizes(const Shape& x, int axis) : count(x[axis]) {
    for (int i = 0; i < axis; ++i) outer *= x[i];
    inner = x.elements() / outer / count;
  }
};

}  // namespace argosy
