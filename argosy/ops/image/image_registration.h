// Registration functions of the image family, one pair a file. Internal to the family.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace image {

void define_codec(OpRegistry& ops);
void define_resize(OpRegistry& ops);
void define_crop(OpRegistry& ops);
void define_colour(OpRegistry& ops);
void define_boxes(OpRegistry& ops);
void define_patches(OpRegistry& ops);
void define_resampler(OpRegistry& ops);

void add_kernels_cpu_codec(KernelRegistry& kernels);
void add_kernels_cpu_resize(KernelRegistry& kernels);
void add_kernels_cpu_scale(KernelRegistry& kernels);
void add_kernels_cpu_crop(KernelRegistry& kernels);
void add_kernels_cpu_colour(KernelRegistry& kernels);
void add_kernels_cpu_boxes(KernelRegistry& kernels);
void add_kernels_cpu_suppression(KernelRegistry& kernels);
void add_kernels_cpu_sampling(KernelRegistry& kernels);
void add_kernels_cpu_patches(KernelRegistry& kernels);
void add_kernels_cpu_projective(KernelRegistry& kernels);
void add_kernels_cpu_resampler(KernelRegistry& kernels);

}  // namespace image

}  // namespace argosy
