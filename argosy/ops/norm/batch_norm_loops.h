// The inner loops of batch normalisation, vectorised: of float32, and of bfloat16 that is computed in float32 and
// rounded once. Private to this folder.
#pragma once

#include <cstdint>

#include "argosy/tensor/bits16.h"

namespace argosy::norm_rows {

// For every column of x[rows, columns]: mean, and the sum of squared distances from it. REQUIRES: rows > 0.
void moments(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares);
void moments(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* mean, float* squares);
// y = x * factor + shift (+ side, unless null), column by column; then 0 where that is below 0, if `relu`. y may be
// side.
void apply(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
           const float* side, bool relu, float* y);
void apply(std::int64_t rows, std::int64_t columns, const bfloat16* x, const float* factor, const float* shift,
           const bfloat16* side, bool relu, bfloat16* y);
// A ReLU between dy and what is summed: dy counts where x * factor + shift, the y of apply() before the ReLU, rounds to
// more than 0. Null: everywhere.
struct Gate {
  const float* factor = nullptr;
  const float* shift = nullptr;
};
// sum_dy = sum of dy, sum_dyx = sum of dy * (x - mean), column by column.
void gradient_sums(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx);
void gradient_sums(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx);
// dx = dy * of_dy + x * of_x + shift, column by column.
void apply_gradient(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, float* dx);
void apply_gradient(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, bfloat16* dx);

}  // namespace argosy::norm_rows
