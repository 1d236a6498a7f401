// Windows over images, as parameters of kernels. Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

struct GpuAxis {
  i64 in, window, stride, dilation, out, pad;

  // Returns the input row that row `y` of the window reads at output row `o`; negative or too large: padding.
  ARGOSY_DEVICE i64 under(i64 o, i64 y) const { return o * stride + y * dilation - pad; }
  // Returns the output row whose window has its row `y` at input row `i`; -1 if there is none.
  ARGOSY_DEVICE i64 over(i64 i, i64 y) const {
    const i64 from = i + pad - y * dilation;
    if (from < 0 || from % stride != 0) return -1;
    return from / stride < out ? from / stride : -1;
  }
};

// The stride of each axis of an image, in elements.
struct GpuImage {
  i64 n, h, w, c;
};

struct GpuConv {
  i64 batch, in_c, out_c, groups;
  GpuAxis h, w;
  GpuImage in, out;
  int activation;  // FusedOps::Activation
  f32 alpha;
};

// NCHW images are pooled as batch * channels images of one channel.
struct GpuPool {
  i64 images, channels;
  GpuAxis h, w;
};

}  // namespace argosy::cuda
