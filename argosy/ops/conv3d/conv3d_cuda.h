// Windows over volumes, as parameters of kernels. Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// As Windows (axis_windows.h): `count` windows of `window` elements `rate` apart, the first at -before, `stride` apart.
struct VolumeAxis {
  i64 size, window, stride, rate, count, before;
};
// The stride of each axis, in elements.
struct VolumeStrides {
  i64 n, d, h, w, c;
};
// An op's input volumes and its output, in either layout.
struct Volumes {
  i64 batch, channels;
  VolumeAxis d, h, w;
  VolumeStrides in, out;
};

}  // namespace argosy::cuda
