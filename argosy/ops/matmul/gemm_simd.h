// The products oneDNN has no good answer to, vectorised with Highway for the machine they run on.
#pragma once

#include <cstdint>

namespace argosy {

// Columns [begin, end) of c[m, n] = a[m, k] · b[n, k]ᵀ, both operands read along their rows. For few rows of a: there
// transposing b first would cost more than the product.
void gemm_dot_rows(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                   std::int64_t begin, std::int64_t end);

// Rows [begin, end) of c[m, n] = A · b[k, n], element (i, p) of A being a[i * a_row + p * a_column].
void gemm_f64(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column,
              const double* b, double* c, std::int64_t begin, std::int64_t end);

}  // namespace argosy
