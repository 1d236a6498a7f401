// The forward convolution and its two gradients by Winograd, in float32, vectorised with Highway for the CPU that they
// run on.
#pragma once

#include <span>

#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/matmul/fused_ops.h"

namespace argosy {

// Images are NHWC, filters [window, window, in, out]. `scratch`: winograd_scratch_bytes(g, thread_budget()) bytes, any
// content. REQUIRES: winograd_pays(g). The calling thread's team computes; the bits do not depend on its size.

// result = activation(image * filter + bias). `bias` may be null.
void winograd_forward(const ConvGeometry& g, const float* image, const float* filter, const float* bias,
                      const FusedOps& fused, float* result, float* scratch);
// result = the gradient of the image, from the gradient of the output.
void winograd_backward_input(const ConvGeometry& g, const float* dy, const float* filter, float* result,
                             float* scratch);
// result = the gradient of the filter. `ends`: the ends of the batch's chunks
// (argosy/ops/collective/reduction_chunks.h), at most kReductionChunks. Each chunk is then summed separately and the
// sums are added as a tree; `scratch` must have winograd_chunks_bytes(). Empty: no chunks.
void winograd_backward_filter(const ConvGeometry& g, const float* image, const float* dy,
                              std::span<const std::int64_t> ends, float* result, float* scratch);

}  // namespace argosy
