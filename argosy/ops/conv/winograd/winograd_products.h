// The three products of a convolution Winograd's way, in float32, vectorised with Highway for the machine they run on.
#pragma once

#include <span>

#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/matmul/fused_ops.h"

namespace argosy {

// Images NHWC, filters [window, window, in, out]. `scratch`: winograd_scratch_bytes(g, thread_budget()) bytes, any
// content. REQUIRES: winograd_pays(g). The calling thread's team works; the same bits for any size of it.

// result = activation(image * filter + bias). `bias` may be null.
void winograd_forward(const ConvGeometry& g, const float* image, const float* filter, const float* bias,
                      const FusedOps& fused, float* result, float* scratch);
// result = the gradient of the image, from that of the output.
void winograd_backward_input(const ConvGeometry& g, const float* dy, const float* filter, float* result,
                             float* scratch);
// result = the gradient of the filter. With `ends` (argosy/ops/collective/reduction_chunks.h), at most kReductionChunks, every
// chunk of the batch is summed by itself and their filters are added as a tree; `scratch` is then what
// winograd_chunks_bytes() says.
void winograd_backward_filter(const ConvGeometry& g, const float* image, const float* dy,
                              std::span<const std::int64_t> ends, float* result, float* scratch);

}  // namespace argosy
