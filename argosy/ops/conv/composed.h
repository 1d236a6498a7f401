// Convolutions computed by other ops in sequence: Conv with any number of batch axes, padded and resized images.
// Private to this folder.
#pragma once

#include <array>

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_composed_convolutions(OpRegistry& ops);
void add_kernels_cpu_composed_convolutions(KernelRegistry& kernels);

// Returns the attributes of the Conv2D (2 spatial axes) or Conv3D (3) that a node of Conv stands for.
AttrMap attrs_of_plain_conv(const AttrMap& conv, int spatial);
// Returns the number of spatial axes of Conv's input. INVALID_ARGUMENT unless it is 2 or 3, and the filter's rank fits.
Result<int> spatial_axes(const AttrMap& conv, int input_rank, int filter_rank);
// Computes Conv of int32 with one batch axis. `plain`: attrs_of_plain_conv().
Result<Tensor> integer_conv(const Tensor& x, const Tensor& f, const AttrMap& plain, int spatial, bool channels_first,
                            Allocator& memory);
// Returns the sizes of an image of rank 4 after mirror padding. `paddings`: the 8 numbers of a [4, 2] tensor.
Result<std::array<std::int64_t, 4>> mirrored_sizes(std::span<const std::int64_t> sizes,
                                                   std::span<const std::int64_t> paddings, bool reflect);

}  // namespace argosy
