// The inner loops of normalisation, vectorised. Private to this folder.
#pragma once

#include <cstdint>

namespace argosy::norm_rows {

// For every column of x[rows, columns]: mean, and the sum of squared distances from it. REQUIRES: rows > 0.
void moments(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares);
// y = x * factor + shift (+ side, unless null), column by column; then 0 where that is below 0, if `relu`. y may be
// side.
void apply(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
           const float* side, bool relu, float* y);
// A ReLU between dy and what is summed: dy counts where x * factor + shift > 0, the y of apply() before the ReLU.
// Null: everywhere.
struct Gate {
  const float* factor = nullptr;
  const float* shift = nullptr;
};
// sum_dy = sum of dy, sum_dyx = sum of dy * (x - mean), column by column.
void gradient_sums(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx);
// dx = dy * of_dy + x * of_x + shift, column by column.
void apply_gradient(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, float* dx);

// One row: y = scale * (x - mean) / sqrt(variance + epsilon) + offset; y may be x.
void layer_norm(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y);
void layer_norm(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y);
// Its gradient: dx, and what this row adds to dscale and doffset.
void layer_norm_gradient(std::int64_t n, const float* dy, const float* x, const float* scale, float epsilon, float* dx,
                         float* dscale, float* doffset);
void layer_norm_gradient(std::int64_t n, const double* dy, const double* x, const double* scale, double epsilon,
                         double* dx, double* dscale, double* doffset);

}  // namespace argosy::norm_rows
