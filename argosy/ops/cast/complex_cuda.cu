// Complex numbers and their parts.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/device/cuda/kernels/strided_index.h"

namespace argosy::cuda {

template <typename T, typename C>
ARGOSY_DEVICE void complex_of(i64 n, const T* re, const T* im, C* z, const StridedIndex<2>& strided) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    i64 at[2];
    strided.at(i, at);
    z[i] = {re[at[0]], im[at[1]]};
  }
}

#define ARGOSY_PARTS(T, C)                                                                     \
  ARGOSY_KERNEL(complex_##C, i64 n, const T* re, const T* im, C* z, StridedIndex<2> strided) { \
    complex_of(n, re, im, z, strided);                                                         \
  }                                                                                            \
  ARGOSY_KERNEL(complex_Real_##C, i64 n, const C* x, T* y) {                                   \
    for (i64 i = first_index(); i < n; i += index_step()) y[i] = x[i].re;                      \
  }                                                                                            \
  ARGOSY_KERNEL(complex_Imag_##C, i64 n, const C* x, T* y) {                                   \
    for (i64 i = first_index(); i < n; i += index_step()) y[i] = x[i].im;                      \
  }                                                                                            \
  ARGOSY_KERNEL(complex_ComplexAbs_##C, i64 n, const C* x, T* y) {                             \
    for (i64 i = first_index(); i < n; i += index_step()) y[i] = ::hypot(x[i].re, x[i].im);    \
  }                                                                                            \
  ARGOSY_KERNEL(complex_Angle_##C, i64 n, const C* x, T* y) {                                  \
    for (i64 i = first_index(); i < n; i += index_step()) y[i] = ::atan2(x[i].im, x[i].re);    \
  }                                                                                            \
  ARGOSY_KERNEL(complex_Conj_##C, i64 n, const C* x, C* y) {                                   \
    for (i64 i = first_index(); i < n; i += index_step()) y[i] = {x[i].re, -x[i].im};          \
  }
ARGOSY_PARTS(f32, c64)
ARGOSY_PARTS(f64, c128)

}  // namespace argosy::cuda
