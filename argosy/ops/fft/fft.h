// Discrete Fourier transforms over the last one, two or three axes.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Of complex64 or complex128, over the last `axes` (1-3) axes; the inverse divides by their sizes.
Value fft(Value x, int axes = 1);
Value ifft(Value x, int axes = 1);  // the inverse of fft(), over the last `axes` axes
// Of real values: the first n / 2 + 1 numbers along the last axis, the rest being their conjugates. `length` gives n
// per axis: at most the axis' size, of which the first n count.
Value rfft(Value x, const std::vector<std::int32_t>& length);
// The inverse of that: real values of `length`.
Value irfft(Value x, const std::vector<std::int32_t>& length);

}  // namespace argosy
