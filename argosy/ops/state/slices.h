// Converts index tensors to offsets in a variable, and checks them. Internal to the state family's kernels.
#pragma once

#include <span>

#include "argosy/op/kernel/kernel.h"

namespace argosy::state {

// The offsets of slices, in elements, in scratch memory of the call; -1: skip the slice.
struct Starts {
  Buffer memory;
  std::int64_t count = 0;
  std::span<const std::int64_t> span() const {
    return {reinterpret_cast<const std::int64_t*>(memory.data()), static_cast<std::size_t>(count)};
  }
};

// The offsets of the rows `indices` of `variable`, of rank >= 1. Sets `slice` to the elements of a row.
// INVALID_ARGUMENT: an index is outside [0, rows).
Result<Starts> row_starts(KernelContext& c, const Tensor& indices, const Shape& variable, std::int64_t& slice);

// The same for GatherNd indices: the last axis of `indices` is an index of several numbers. With `skip_bad`, an index
// out of bounds gives -1 instead of an error.
Result<Starts> nd_starts(KernelContext& c, const Tensor& indices, const Shape& variable, bool skip_bad,
                         std::int64_t& slice);
// indices.shape[:-1] + variable.shape[indices.shape[-1]:]
Result<Shape> nd_result_shape(const Shape& indices, const Shape& variable);

}  // namespace argosy::state
