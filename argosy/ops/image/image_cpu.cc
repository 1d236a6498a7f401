#include "argosy/ops/image/image_registration.h"

namespace argosy {

void add_kernels_cpu_image(KernelRegistry& kernels) {
  image::add_kernels_cpu_codec(kernels);
  image::add_kernels_cpu_resize(kernels);
  image::add_kernels_cpu_scale(kernels);
  image::add_kernels_cpu_crop(kernels);
  image::add_kernels_cpu_colour(kernels);
  image::add_kernels_cpu_boxes(kernels);
  image::add_kernels_cpu_suppression(kernels);
  image::add_kernels_cpu_sampling(kernels);
  image::add_kernels_cpu_patches(kernels);
  image::add_kernels_cpu_projective(kernels);
  image::add_kernels_cpu_resampler(kernels);
}

}  // namespace argosy
