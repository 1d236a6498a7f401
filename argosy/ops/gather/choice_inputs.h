// Checks of the inputs of OneHot and SparseToDense, for every kind of device. Internal to argosy/ops.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// OneHot: indices of shape [outer…, inner…] become [outer…, depth, inner…].
struct OneHotSizes {
  std::int64_t depth = 0;
  std::int64_t inner = 1;  // indices behind the new axis
  Shape output;
};

// Reads the depth, input 1, in host memory, and checks shapes. INVALID_ARGUMENT if they do not fit.
inline Result<OneHotSizes> check_one_hot(const KernelContext& c, std::int64_t given_axis) {
  const Shape& indices = c.input(0).shape();
  for (int i = 1; i < 4; ++i) {
    if (c.input(i).shape().rank() == 0) continue;
    return invalid_argument("OneHot: depth, on_value and off_value must be scalars, not of shape ",
                            c.input(i).shape());
  }
  OneHotSizes sizes{.depth = *c.input(1).data<std::int32_t>()};
  if (sizes.depth < 0) {
    return invalid_argument("depth must be non-negative, got: ", sizes.depth, ": OneHot: depth is ", sizes.depth);
  }
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given_axis, indices.rank() + 1, "OneHot"));
  const auto behind = indices.sizes().subspan(static_cast<std::size_t>(axis));
  Ints output(indices.sizes().first(static_cast<std::size_t>(axis)));
  output.push_back(sizes.depth);
  output.append(behind);
  ARGOSY_ASSIGN_OR_RETURN(sizes.output, Shape::make(output.span()));
  for (const std::int64_t size : behind) sizes.inner *= size;
  return sizes;
}

// SparseToDense: `count` values, each at a place of `depth` indices.
struct DensePlaces {
  std::int64_t count = 0, depth = 0;
  Ints sizes;  // of the output
  Shape output;
};

// Reads the output's shape, input 1, in host memory, and checks shapes. INVALID_ARGUMENT if they do not fit. Does not
// read the indices.
inline Result<DensePlaces> check_sparse_to_dense(const KernelContext& c) {
  const Shape &indices = c.input(0).shape(), &values = c.input(2).shape();
  if (indices.rank() > 2) {
    return invalid_argument("SparseToDense: sparse_indices must have rank 2 or less, not shape ", indices);
  }
  if (c.input(1).shape().rank() != 1) {
    return invalid_argument("SparseToDense: output_shape must be a vector, not of shape ", c.input(1).shape());
  }
  DensePlaces places{.count = indices.rank() == 0 ? 1 : indices[0], .depth = indices.rank() == 2 ? indices[1] : 1};
  ARGOSY_ASSIGN_OR_RETURN(places.sizes, read_ints(c.input(1), "SparseToDense: output_shape"));
  ARGOSY_ASSIGN_OR_RETURN(places.output, Shape::make(places.sizes.span()));
  if (places.depth != places.output.rank()) {
    return invalid_argument("SparseToDense: indices of ", places.depth, " numbers into an output of shape ",
                            places.output);
  }
  if (values.rank() > 1 || (values.rank() == 1 && values[0] != places.count)) {
    return invalid_argument("SparseToDense: sparse_values must be a scalar or a vector of ", places.count,
                            ", not of shape ", values);
  }
  if (c.input(3).shape().rank() != 0) {
    return invalid_argument("SparseToDense: default_value must be a scalar, not of shape ", c.input(3).shape());
  }
  return places;
}

}  // namespace argosy
