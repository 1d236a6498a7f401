// Convolutions that are other ops one after the other: Conv of any number of batch axes, padded and resized images.
// Private to this folder.
#pragma once

#include <array>

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_composed_convolutions(OpRegistry& ops);
void add_kernels_cpu_composed_convolutions(KernelRegistry& kernels);

// The attributes that Conv2D (2 spatial axes) or Conv3D (3) has for a node of Conv.
AttrMap attrs_of_plain_conv(const AttrMap& conv, int spatial);
// How many spatial axes an input of Conv has. INVALID_ARGUMENT unless 2 or 3, and the filter goes with them.
Result<int> spatial_axes(const AttrMap& conv, int input_rank, int filter_rank);
// Conv of int32 with one batch axis; `plain`: attrs_of_plain_conv().
Result<Tensor> integer_conv(const Tensor& x, const Tensor& f, const AttrMap& plain, int spatial, bool channels_first,
                            Allocator& memory);
// Of an image of a rank of 4, padded by mirroring: `paddings` are the 8 numbers of [4,2].
Result<std::array<std::int64_t, 4>> mirrored_sizes(std::span<const std::int64_t> sizes,
                                                   std::span<const std::int64_t> paddings, bool reflect);

}  // namespace argosy
