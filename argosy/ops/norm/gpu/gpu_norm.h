// What the kernels of normalisation are given. Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// x as outer x channels x inner; the `outer * inner` elements of a channel are its rows. Sums over rows are cut into
// `chunks`. A block takes `lanes` times `vec` neighbouring channels, both powers of two; a thread takes `vec` of them.
// `vec` is 1, or what makes 16 bytes (vec.h) where channels are neighbours and their number is a multiple of it.
struct GpuChannels {
  i64 outer, channels, inner;
  int lanes, chunks, vec = 1;

  ARGOSY_DEVICE i64 rows() const { return outer * inner; }
  ARGOSY_DEVICE i64 at(i64 row, i64 channel) const { return (row / inner * channels + channel) * inner + row % inner; }
};

// Vectors of one number a channel, on the GPU.
struct GpuBatchNorm {
  const f32 *scale, *offset, *mean, *variance;  // as they came in
  f32 *new_mean, *new_variance, *kept_mean, *kept_variance;
  f32* line;  // y = x * line[channel] + line[channels + channel]
  f32 epsilon, factor;
  int training;
};
struct GpuBatchNormGradient {
  const f32 *scale, *mean, *variance;
  f32 *dscale, *doffset;
  f32* plane;  // dx = dy * plane[channel] + x * plane[channels + channel] + plane[2 * channels + channel]
  f32 epsilon;
  int training;
};

}  // namespace argosy::cuda
