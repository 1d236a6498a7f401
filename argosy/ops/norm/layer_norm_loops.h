// The inner loops of layer normalisation, vectorised: one row at a time. Private to this folder.
#pragma once

#include <cstdint>

#include "argosy/tensor/bits16.h"

namespace argosy::norm_rows {

// y = scale * (x - mean) / sqrt(variance + epsilon) + offset; y may be x. bfloat16 is computed in float32, rounded
// once.
void layer_norm(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y);
void layer_norm(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y);
void layer_norm(std::int64_t n, const bfloat16* x, const float* scale, const float* offset, float epsilon, bfloat16* y);
// The gradient of a row: writes dx, and adds the row's terms to dscale and doffset.
void layer_norm_gradient(std::int64_t n, const float* dy, const float* x, const float* scale, float epsilon, float* dx,
                         float* dscale, float* doffset);
void layer_norm_gradient(std::int64_t n, const double* dy, const double* x, const double* scale, double epsilon,
                         double* dx, double* dscale, double* doffset);
void layer_norm_gradient(std::int64_t n, const bfloat16* dy, const bfloat16* x, const float* scale, float epsilon,
                         bfloat16* dx, float* dscale, float* doffset);

}  // namespace argosy::norm_rows
