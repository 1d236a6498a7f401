// The inner loops of batch normalisation, vectorised: for float32, and for bfloat16, which is computed in float32 and
// rounded once. Private to this folder.
#pragma once

#include <cstdint>

#include "argosy/tensor/bits16.h"

namespace argosy::norm_rows {

// For every column of x[rows, columns]: the mean, and the sum of squared differences from it. REQUIRES: rows > 0.
void moments(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares);
void moments(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* mean, float* squares);
// y = x * factor + shift (+ side, unless null), with factor and shift per column; then a ReLU, if `relu`. y may be
// side.
void apply(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
           const float* side, bool relu, float* y);
void apply(std::int64_t rows, std::int64_t columns, const bfloat16* x, const float* factor, const float* shift,
           const bfloat16* side, bool relu, bfloat16* y);
// The gradient of the ReLU in apply(): dy counts as 0 unless x * factor + shift, the y before the ReLU, rounds to more
// than 0. Null: there was no ReLU.
struct Gate {
  const float* factor = nullptr;
  const float* shift = nullptr;
};
// For every column: sum_dy = sum of dy, sum_dyx = sum of dy * (x - mean).
void gradient_sums(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx);
void gradient_sums(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx);
// dx = dy * of_dy + x * of_x + shift, with of_dy, of_x and shift per column.
void apply_gradient(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, float* dx);
void apply_gradient(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, bfloat16* dx);

}  // namespace argosy::norm_rows
