// Loops of elementwise kernels. For .cu files.
#pragma once

#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/device/cuda/kernels/strided_index.h"

namespace argosy::cuda {

// Four at most: the code of a function stands there for each of them, and eight bytes a thread keep a card busy.
template <typename T, typename R>
inline constexpr int kLoopPack = kElementsInPack<T, R> < 4 ? kElementsInPack<T, R> : 4;

template <typename F, typename T, typename R>
ARGOSY_DEVICE void unary_loop(i64 n, const T* x, R* y) {
  constexpr int kPack = kLoopPack<T, R>;
  const auto whole = [=](i64 first) {
    const Pack<T, kPack> xs = load_pack<kPack>(x, first);
    Pack<R, kPack> ys;
    ARGOSY_UNROLL
    for (int k = 0; k < kPack; ++k) ys.at[k] = Number<R>::store(F::call(Number<T>::load(xs.at[k])));
    store_pack<kPack>(y, first, ys);
  };
  for_packs<kPack>(n, lie_in_packs<kPack>(x, y), first_index(), index_step(), whole,
                   [=](i64 i) { store(y, i, F::call(load(x, i))); });
}

// What a pack of the output sees of an operand.
template <int kCount, typename T>
ARGOSY_DEVICE Pack<T, kCount> load_along(const T* from, i64 at, i64 stride) {
  return stride == 0 ? repeat_one<kCount>(from[at]) : load_pack<kCount>(from, at);
}

template <typename F, typename T, typename R>
ARGOSY_DEVICE void binary_loop(i64 n, const T* x, const T* y, R* z, const Walk<2>& walk) {
  constexpr int kPack = kLoopPack<T, R>;
  const bool together = walk.goes_in_packs(kPack) && lie_in_packs<kPack>(z) &&
                        (walk.inner_stride(0) == 0 || lie_in_packs<kPack>(x)) &&
                        (walk.inner_stride(1) == 0 || lie_in_packs<kPack>(y));
  const auto whole = [=, &walk](i64 first) {
    i64 at[2];
    walk.at(first, at);
    const Pack<T, kPack> xs = load_along<kPack>(x, at[0], walk.inner_stride(0)),
                         ys = load_along<kPack>(y, at[1], walk.inner_stride(1));
    Pack<R, kPack> zs;
    ARGOSY_UNROLL
    for (int k = 0; k < kPack; ++k) {
      zs.at[k] = Number<R>::store(F::call(Number<T>::load(xs.at[k]), Number<T>::load(ys.at[k])));
    }
    store_pack<kPack>(z, first, zs);
  };
  const auto one = [=, &walk](i64 i) {
    i64 at[2];
    walk.at(i, at);
    store(z, i, F::call(load(x, at[0]), load(y, at[1])));
  };
  for_packs<kPack>(n, together, first_index(), index_step(), whole, one);
}

#define ARGOSY_CUDA_UNARY_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, T* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_ASKS_ONE_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, bool* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_BINARY_KERNEL(F, T)                                                \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, T* z, Walk<2> walk) { \
    binary_loop<fn::F>(n, x, y, z, walk);                                              \
  }
#define ARGOSY_CUDA_ASKS_TWO_KERNEL(F, T)                                                 \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, bool* z, Walk<2> walk) { \
    binary_loop<fn::F>(n, x, y, z, walk);                                                 \
  }

}  // namespace argosy::cuda
