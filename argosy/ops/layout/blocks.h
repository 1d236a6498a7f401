// Shapes of the ops that trade space for depth or batch, shared by definitions and kernels.
#pragma once

#include "argosy/base/status.h"
#include "argosy/tensor/ints.h"
#include "argosy/tensor/shape.h"

namespace argosy {

// Where an image format of rank 4 keeps its axes.
struct ImageAxes {
  int batch = 0, height = 1, width = 2, depth = 3;
};
// UNIMPLEMENTED for NCHW_VECT_C, which only GPUs have.
Result<ImageAxes> image_axes(std::string_view op, std::string_view data_format);

// Sizes may be PartialShape::kUnknown. REQUIRES: rank 4, block_size >= 2.
Result<Ints> space_to_depth_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size);
Result<Ints> depth_to_space_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size);

// x of shape [batch, space…, rest…]; `edges` holds before and after of each spatial axis: paddings, or crops.
// REQUIRES: block and edges fit (checked here: they are >= 0, blocks >= 1). Sizes may be unknown.
Result<Ints> space_to_batch_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges);
Result<Ints> batch_to_space_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges);

}  // namespace argosy
