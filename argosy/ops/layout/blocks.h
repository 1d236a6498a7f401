// Output shapes of the ops that move blocks of pixels to or from depth or batch. Definitions and kernels share them.
#pragma once

#include "argosy/base/status.h"
#include "argosy/tensor/ints.h"
#include "argosy/tensor/shape.h"

namespace argosy {

// The axes of an image format of rank 4.
struct ImageAxes {
  int batch = 0, height = 1, width = 2, depth = 3;
};
// UNIMPLEMENTED for NCHW_VECT_C, which is a format of GPUs only.
Result<ImageAxes> image_axes(std::string_view op, std::string_view data_format);

// Sizes may be PartialShape::kUnknown. REQUIRES: rank 4, block_size >= 2.
Result<Ints> space_to_depth_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size);
Result<Ints> depth_to_space_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size);

// The sizes of SpaceToBatch of x, [batch, space…, rest…]. `edges`: before and after for each spatial axis, as paddings
// or crops. REQUIRES: x has a spatial axis for each entry of block. INVALID_ARGUMENT unless there are two edges per
// block, edges are >= 0, blocks >= 1, and blocks divide the padded sizes. Sizes may be unknown.
Result<Ints> space_to_batch_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges);
Result<Ints> batch_to_space_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges);

}  // namespace argosy
