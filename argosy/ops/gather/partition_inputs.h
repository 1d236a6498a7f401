// Checks of the inputs of DynamicPartition and DynamicStitch, for every kind of device. Private to this folder.
#pragma once

#include <algorithm>

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

inline bool starts_with(const Shape& shape, const Shape& prefix) {
  return prefix.rank() <= shape.rank() &&
         std::equal(prefix.sizes().begin(), prefix.sizes().end(), shape.sizes().begin());
}

// INVALID_ARGUMENT unless the shape of data starts with that of the partitions, which are in host memory, and each
// partition is the number of an output.
inline Status check_partitions(const KernelContext& c) {
  const Tensor &data = c.input(0), &partitions = c.input(1);
  if (!starts_with(data.shape(), partitions.shape())) {
    return invalid_argument("DynamicPartition: data of shape ", data.shape(), " does not begin with the shape ",
                            partitions.shape(), " of partitions");
  }
  const auto numbers = partitions.values<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0 && numbers[i] < c.num_outputs()) continue;
    return invalid_argument("DynamicPartition: partitions[", i, "] = ", numbers[i], " is not in [0, ", c.num_outputs(),
                            ")");
  }
  return ok_status();
}

// Returns the shape of DynamicStitch's output: [largest index + 1, row…]. Inputs [0, n) are indices in host memory,
// inputs [n, 2n) their data. INVALID_ARGUMENT if these do not fit.
inline Result<Shape> check_stitch(const KernelContext& c) {
  const int n = c.num_inputs() / 2;
  std::int64_t rows = 0;
  const auto row_sizes = [&](int i) {
    return c.input(n + i).shape().sizes().subspan(static_cast<std::size_t>(c.input(i).shape().rank()));
  };
  for (int i = 0; i < n; ++i) {
    const Tensor& indices = c.input(i);
    const Shape& data = c.input(n + i).shape();
    if (!starts_with(data, indices.shape())) {
      return invalid_argument("DynamicStitch: data[", i, "] of shape ", data, " does not begin with the shape ",
                              indices.shape(), " of its indices");
    }
    if (Ints(row_sizes(i)) != row_sizes(0)) {
      return invalid_argument("DynamicStitch: rows of data[", i, "], of shape ", data,
                              ", differ from those of data[0]");
    }
    for (const std::int32_t index : indices.values<std::int32_t>()) {
      if (index < 0) return invalid_argument("DynamicStitch: an index of ", index, " in indices[", i, "]");
      rows = std::max<std::int64_t>(rows, index + std::int64_t{1});
    }
  }
  Ints sizes = {rows};
  sizes.append(row_sizes(0));
  return Shape::make(sizes.span());
}

}  // namespace argosy
