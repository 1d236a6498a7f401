// Parameters of the CUDA kernels of normalisation. Included by device code and host code.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// The shape of x as [outer, channels, inner], and how its work is divided. The `outer * inner` elements of a channel
// are its rows. Sums over rows are made in `chunks` parts. A block takes `lanes` * `vec` neighbouring channels, both
// powers of two; a thread takes `vec` of them. `vec` is 1, or as many elements as fill 16 bytes (vec.h): where channels
// are the last axis, and their number is a multiple of it.
struct GpuChannels {
  i64 outer, channels, inner;
  int lanes, chunks, vec = 1;

  ARGOSY_DEVICE i64 rows() const { return outer * inner; }
  ARGOSY_DEVICE i64 at(i64 row, i64 channel) const { return (row / inner * channels + channel) * inner + row % inner; }
};

// Vectors [channels] in the GPU's memory.
struct GpuBatchNorm {
  const f32 *scale, *offset, *mean, *variance;  // the op's inputs
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
