// Lengths without large prime factors go to Eigen's mixed-radix transform, whose time grows with the largest factor;
// others through a convolution of a power of two (Bluestein, 1970).
#include "argosy/ops/fft/fft_line.h"

#include <cmath>
#include <numbers>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace argosy::fft_parts {

namespace {

constexpr std::int64_t kLargestFactor = 32;

bool smooth(std::int64_t n) {
  for (std::int64_t p = 2; p <= kLargestFactor; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

}  // namespace

template <typename T>
struct Line<T>::State {
  using C = std::complex<T>;
  std::int64_t n;
  Eigen::FFT<T> eigen;
  std::vector<C> line;
  // Bluestein's: the transform is a convolution with chirp, whose transform is kept; empty for smooth lengths.
  std::int64_t padded = 0;
  std::vector<C> chirp, kernel, work, spectrum;

  explicit State(std::int64_t length) : n(length), line(static_cast<std::size_t>(length)) {
    eigen.SetFlag(Eigen::FFT<T>::HalfSpectrum);
    if (n < 2 || smooth(n)) return;
    padded = 1;
    while (padded < 2 * n - 1) padded *= 2;
    chirp.resize(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) {
      // The angle π k² / n, from k² modulo 2 n: exact however large k is.
      const auto square = static_cast<std::int64_t>((static_cast<__int128>(k) * k) % (2 * n));
      const double angle = std::numbers::pi * static_cast<double>(square) / static_cast<double>(n);
      chirp[static_cast<std::size_t>(k)] = C(static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle)));
    }
    work.assign(static_cast<std::size_t>(padded), C(0));
    for (std::int64_t k = 0; k < n; ++k) {
      const C c = std::conj(chirp[static_cast<std::size_t>(k)]);
      work[static_cast<std::size_t>(k)] = c;
      if (k > 0) work[static_cast<std::size_t>(padded - k)] = c;
    }
    kernel.resize(static_cast<std::size_t>(padded));
    spectrum.resize(static_cast<std::size_t>(padded));
    eigen.fwd(kernel.data(), work.data(), static_cast<int>(padded));
  }

  void bluestein(const C* from, C* to, bool inverse) {
    std::fill(work.begin(), work.end(), C(0));
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      work[k] = (inverse ? std::conj(from[k]) : from[k]) * chirp[k];
    }
    eigen.fwd(spectrum.data(), work.data(), static_cast<int>(padded));
    for (std::size_t k = 0; k < static_cast<std::size_t>(padded); ++k) spectrum[k] *= kernel[k];
    eigen.inv(work.data(), spectrum.data(), static_cast<int>(padded));
    const T scale = inverse ? T(1) / static_cast<T>(n) : T(1);
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      const C y = work[k] * chirp[k];
      to[k] = (inverse ? std::conj(y) : y) * scale;
    }
  }
};

template <typename T>
Line<T>::Line(std::int64_t n) : state_(std::make_unique<State>(n)) {}
template <typename T>
Line<T>::~Line() = default;

template <typename T>
void Line<T>::transform(const std::complex<T>* from, std::complex<T>* to, bool inverse) {
  State& s = *state_;
  if (s.n < 2) {
    if (s.n == 1) *to = *from;
  } else if (s.padded > 0) {
    s.bluestein(from, to, inverse);
  } else {
    std::copy_n(from, s.n, s.line.data());
    if (inverse) {
      s.eigen.inv(to, s.line.data(), static_cast<int>(s.n));
    } else {
      s.eigen.fwd(to, s.line.data(), static_cast<int>(s.n));
    }
  }
}

template <typename T>
void Line<T>::halve(const T* from, std::complex<T>* to) {
  State& s = *state_;
  if (s.n >= 2 && s.padded == 0) {
    s.eigen.fwd(to, from, static_cast<int>(s.n));
    return;
  }
  std::vector<std::complex<T>> whole(from, from + s.n);
  transform(whole.data(), whole.data(), false);
  std::copy_n(whole.data(), s.n / 2 + 1, to);
}

template <typename T>
void Line<T>::restore(const std::complex<T>* from, T* to) {
  State& s = *state_;
  const auto n = static_cast<std::size_t>(s.n);
  std::vector<std::complex<T>> whole(n);
  // The first number, and the middle one of an even length, are their own conjugates: only their real parts count.
  for (std::size_t k = 0; k < n; ++k) {
    const bool alone = k == 0 || 2 * k == n;
    whole[k] = alone ? std::complex<T>(from[k].real()) : 2 * k < n ? from[k] : std::conj(from[n - k]);
  }
  transform(whole.data(), whole.data(), true);
  for (std::size_t k = 0; k < n; ++k) to[k] = whole[k].real();
}

template class Line<float>;
template class Line<double>;

}  // namespace argosy::fft_parts
