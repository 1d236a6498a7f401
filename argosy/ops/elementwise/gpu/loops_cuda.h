// Loops of elementwise kernels. For .cu files.
#pragma once

#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/device/cuda/kernels/strided_index.h"

namespace argosy::cuda {

// Elements per vector access, four at most. The loop over a vector is unrolled, which multiplies the function's code;
// eight bytes per thread keep a GPU busy.
template <typename T, typename R>
inline constexpr int kLoopVec = kVecElements<T, R> < 4 ? kVecElements<T, R> : 4;

template <typename F, typename T, typename R>
ARGOSY_DEVICE void unary_loop(i64 n, const T* x, R* y) {
  constexpr int kVec = kLoopVec<T, R>;
  const auto whole = [=](i64 first) {
    const Vec<T, kVec> xs = load_vec<kVec>(x, first);
    Vec<R, kVec> ys;
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) ys.at[k] = Number<R>::store(F::call(Number<T>::load(xs.at[k])));
    store_vec<kVec>(y, first, ys);
  };
  for_vecs<kVec>(n, are_vec_aligned<kVec>(x, y), first_index(), index_step(), whole,
                 [=](i64 i) { store(y, i, F::call(load(x, i))); });
}

// The elements of an operand that belong to one vector of the output.
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> load_along(const T* from, i64 at, i64 stride) {
  return stride == 0 ? splat_vec<kCount>(from[at]) : load_vec<kCount>(from, at);
}

template <typename F, typename T, typename R>
ARGOSY_DEVICE void binary_loop(i64 n, const T* x, const T* y, R* z, const StridedIndex<2>& strided) {
  constexpr int kVec = kLoopVec<T, R>;
  const bool together = strided.allows_vecs(kVec) && are_vec_aligned<kVec>(z) &&
                        (strided.inner_stride(0) == 0 || are_vec_aligned<kVec>(x)) &&
                        (strided.inner_stride(1) == 0 || are_vec_aligned<kVec>(y));
  const auto whole = [=, &strided](i64 first) {
    i64 at[2];
    strided.at(first, at);
    const Vec<T, kVec> xs = load_along<kVec>(x, at[0], strided.inner_stride(0)),
                       ys = load_along<kVec>(y, at[1], strided.inner_stride(1));
    Vec<R, kVec> zs;
    ARGOSY_UNROLL
    for (int k = 0; k < kVec; ++k) {
      zs.at[k] = Number<R>::store(F::call(Number<T>::load(xs.at[k]), Number<T>::load(ys.at[k])));
    }
    store_vec<kVec>(z, first, zs);
  };
  const auto one = [=, &strided](i64 i) {
    i64 at[2];
    strided.at(i, at);
    store(z, i, F::call(load(x, at[0]), load(y, at[1])));
  };
  for_vecs<kVec>(n, together, first_index(), index_step(), whole, one);
}

#define ARGOSY_CUDA_UNARY_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, T* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_UNARY_PREDICATE_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, bool* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_BINARY_KERNEL(F, T)                                                           \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, T* z, StridedIndex<2> strided) { \
    binary_loop<fn::F>(n, x, y, z, strided);                                                      \
  }
#define ARGOSY_CUDA_BINARY_PREDICATE_KERNEL(F, T)                                                    \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, bool* z, StridedIndex<2> strided) { \
    binary_loop<fn::F>(n, x, y, z, strided);                                                         \
  }

}  // namespace argosy::cuda
