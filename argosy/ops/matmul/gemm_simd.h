// Products of matrices that oneDNN is slow at, or does not have (float64), vectorised with Highway.
#pragma once

#include <cstdint>

namespace argosy {

// Computes columns [begin, end) of c[m, n] = a[m, k] · b[n, k]ᵀ as dot products of rows. For an `a` of few rows:
// transposing b first would then cost more than the product.
void gemm_dot_rows(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                   std::int64_t begin, std::int64_t end);

// Computes rows [begin, end) of c[m, n] = A · b[k, n]. Element (i, p) of A is a[i * a_row + p * a_column].
void gemm_f64(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column,
              const double* b, double* c, std::int64_t begin, std::int64_t end);

}  // namespace argosy
