// Softmax over one row at a time, vectorised. Private to this folder.
#pragma once

#include <cstdint>

#include "argosy/tensor/bits16.h"

namespace argosy::softmax_rows {

// y = softmax(x), or its logarithm; y may be x.
void softmax(const float* x, float* y, std::int64_t n, bool logarithm);
void softmax(const double* x, double* y, std::int64_t n, bool logarithm);
// The same, computed in float32 and rounded once. `wide`: scratch memory for n numbers.
void softmax(const bfloat16* x, bfloat16* y, float* wide, std::int64_t n, bool logarithm);

// loss = sum(labels * (log sum exp(x) - x)), backprop = softmax(x) - labels; backprop may be x or labels.
float cross_entropy(const float* x, const float* labels, float* backprop, std::int64_t n);
double cross_entropy(const double* x, const double* labels, double* backprop, std::int64_t n);
// The same where all of the probability is on one class. REQUIRES: 0 <= label < n.
float cross_entropy(const float* x, std::int64_t label, float* backprop, std::int64_t n);
double cross_entropy(const double* x, std::int64_t label, double* backprop, std::int64_t n);

}  // namespace argosy::softmax_rows
