// Line: the Fourier transform of one line of elements. Private to this folder.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>

namespace argosy::fft_parts {

// Transforms lines of one length; keeps its tables and buffers between calls. For one thread.
template <typename T>
class Line {
 public:
  explicit Line(std::int64_t n);
  ~Line();
  // to[k] = the sum of x[j] exp(∓2 π i j k / n), with minus for the forward transform; the inverse divides by n. `to`
  // may be `from`.
  void transform(const std::complex<T>* from, std::complex<T>* to, bool inverse);
  // halve(): the first n / 2 + 1 numbers of a real line's transform. restore(): its inverse.
  void halve(const T* from, std::complex<T>* to);
  void restore(const std::complex<T>* from, T* to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

extern template class Line<float>;
extern template class Line<double>;

}  // namespace argosy::fft_parts
