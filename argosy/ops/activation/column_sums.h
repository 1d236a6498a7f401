// Sums of the columns of a row-major matrix, vectorised.
#pragma once

#include <cstdint>

#include "argosy/tensor/bits16.h"

namespace argosy {

// sums[c] = sum over the rows of x. REQUIRES: rows >= 0, columns > 0.
void add_up_rows(std::int64_t rows, std::int64_t columns, const float* x, float* sums);
void add_up_rows(std::int64_t rows, std::int64_t columns, const double* x, double* sums);
void add_up_rows(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* sums);

}  // namespace argosy
