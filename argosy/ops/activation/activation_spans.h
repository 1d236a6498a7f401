// Tables of this folder's spans: loops over contiguous elements (argosy/ops/elementwise/elementwise_kernels.h). This
// folder's kernels use them, and fused ones.
#pragma once

#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy::activation {

std::span<const UnaryRow> unary_rows();  // vectorised for this processor: float32 and float64
std::span<const BinaryRow> binary_rows();
std::span<const UnaryRow> reference_unary_rows();
std::span<const BinaryRow> reference_binary_rows();

// y = x, or alpha * x below 0; dx = d, or alpha * d where x <= 0.
void leaky(const float* x, float* y, std::int64_t n, float alpha);
void leaky(const double* x, double* y, std::int64_t n, double alpha);
void leaky_grad(const float* d, const float* x, float* dx, std::int64_t n, float alpha);
void leaky_grad(const double* d, const double* x, double* dx, std::int64_t n, double alpha);

// INVALID_ARGUMENT unless x and y have the same shape: the gradient ops do not broadcast.
Status same_shape(const Tensor& x, const Tensor& y);

}  // namespace argosy::activation
