// Index tensors as places in a variable: checked once, then plain offsets. Internal to the state family's kernels.
#pragma once

#include <span>

#include "argosy/op/kernel/kernel.h"

namespace argosy::state {

// Element offsets of slices, in scratch memory of the call; -1 where a slice is to be left out.
struct Starts {
  Buffer memory;
  std::int64_t count = 0;
  std::span<const std::int64_t> span() const {
    return {reinterpret_cast<const std::int64_t*>(memory.data()), static_cast<std::size_t>(count)};
  }
};

// Where the rows of `variable` (rank >= 1) that `indices` name start; `slice`: elements of a row. INVALID_ARGUMENT for
// an index outside [0, rows).
Result<Starts> row_starts(KernelContext& c, const Tensor& indices, const Shape& variable, std::int64_t& slice);

// The same for indices of several numbers, those along the last axis of `indices`.
Result<Starts> nd_starts(KernelContext& c, const Tensor& indices, const Shape& variable, bool skip_bad,
                         std::int64_t& slice);
// indices.shape[:-1] + variable.shape[indices.shape[-1]:]
Result<Shape> nd_result_shape(const Shape& indices, const Shape& variable);

}  // namespace argosy::state
