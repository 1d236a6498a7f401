// The inner loops of pooling, for one window at a time. A cell is one position of the image: its `channels`
// neighbouring elements. Results are per channel. float, double and bfloat16 are vectorised with Highway; the rest are
// plain loops.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "argosy/tensor/bits16.h"

namespace argosy {

namespace plain {

// y = max over the cells. As in TensorFlow the search starts at the lowest finite value: NaN and -infinity never win.
template <typename T>
void max_of_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  for (std::int64_t c = 0; c < channels; ++c) {
    T best = std::numeric_limits<T>::lowest();
    for (int i = 0; i < count; ++i) best = best < cells[i][c] ? cells[i][c] : best;
    y[c] = best;
  }
}

// dy goes to the dx of the first of the largest cells. Here, as in TensorFlow, the search starts at the first cell, so
// a NaN there wins. With `add`, dy is added to dx. Without it, which is for windows that do not overlap, dx is written:
// dy in the largest cell, zeros in the others.
template <typename T>
void give_to_max(const T* const* cells, T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  for (std::int64_t c = 0; c < channels; ++c) {
    int best = 0;
    for (int i = 1; i < count; ++i) best = cells[best][c] < cells[i][c] ? i : best;
    for (int i = 0; i < count; ++i) {
      if (i == best) {
        dx[i][c] = add ? static_cast<T>(dx[i][c] + dy[c]) : dy[c];
      } else if (!add) {
        dx[i][c] = T(0);
      }
    }
  }
}

// y = mean over the cells; 16-bit floats sum in float.
template <typename T>
void mean_of_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  for (std::int64_t c = 0; c < channels; ++c) {
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    Sum sum = 0;
    for (int i = 0; i < count; ++i) sum += static_cast<Sum>(cells[i][c]);
    y[c] = T(sum / static_cast<Sum>(count));
  }
}

// Every dx cell gets dy / count, added or written as above.
template <typename T>
void spread_mean(T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  for (std::int64_t c = 0; c < channels; ++c) {
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    const Sum share = static_cast<Sum>(dy[c]) / static_cast<Sum>(count);
    for (int i = 0; i < count; ++i) dx[i][c] = T(add ? static_cast<Sum>(dx[i][c]) + share : share);
  }
}

}  // namespace plain

// The same functions, by the fastest loop for T.
template <typename T>
void max_of_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  plain::max_of_cells(cells, count, channels, y);
}
template <typename T>
void give_to_max(const T* const* cells, T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  plain::give_to_max(cells, dx, count, channels, dy, add);
}
template <typename T>
void mean_of_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  plain::mean_of_cells(cells, count, channels, y);
}
template <typename T>
void spread_mean(T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  plain::spread_mean(dx, count, channels, dy, add);
}
template <>
void max_of_cells(const float* const* cells, int count, std::int64_t channels, float* y);
template <>
void max_of_cells(const double* const* cells, int count, std::int64_t channels, double* y);
template <>
void give_to_max(const float* const* cells, float* const* dx, int count, std::int64_t channels, const float* dy,
                 bool add);
template <>
void give_to_max(const double* const* cells, double* const* dx, int count, std::int64_t channels, const double* dy,
                 bool add);
template <>
void mean_of_cells(const float* const* cells, int count, std::int64_t channels, float* y);
template <>
void mean_of_cells(const double* const* cells, int count, std::int64_t channels, double* y);
template <>
void spread_mean(float* const* dx, int count, std::int64_t channels, const float* dy, bool add);
template <>
void spread_mean(double* const* dx, int count, std::int64_t channels, const double* dy, bool add);
template <>
void max_of_cells(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y);
template <>
void give_to_max(const bfloat16* const* cells, bfloat16* const* dx, int count, std::int64_t channels,
                 const bfloat16* dy, bool add);
template <>
void mean_of_cells(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y);
template <>
void spread_mean(bfloat16* const* dx, int count, std::int64_t channels, const bfloat16* dy, bool add);

}  // namespace argosy
