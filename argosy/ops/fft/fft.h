// Discrete Fourier transforms over the last one, two or three axes.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Transforms complex64 or complex128 over the last `axes` (1-3) axes. The inverse divides by their sizes.
Value fft(Value x, int axes = 1);
Value ifft(Value x, int axes = 1);  // the inverse of fft(), over the last `axes` axes
// Transforms real values. The result has the first n / 2 + 1 numbers along the last axis; the rest are their
// conjugates. `length`: n for each axis, at most the axis' size; elements from n on are ignored.
Value rfft(Value x, const std::vector<std::int32_t>& length);
// The inverse of rfft(): real values, with the sizes `length`.
Value irfft(Value x, const std::vector<std::int32_t>& length);

}  // namespace argosy
