// Vectorised access: neighbouring elements moved together. A thread that reads two bytes at a time leaves most of a GPU's bandwidth
// unused, so kernels bound by memory take 16 bytes of neighbours, a vec, wherever memory lies so, and element by
// element what is left. Read by nvcc, NVRTC (its text stands before every generated kernel: nothing but numbers.h may
// be included) and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// How many elements a vec has where those are all that is read and written: 16 bytes of the widest.
template <typename T, typename... Others>
struct Widest {
  static constexpr int kOthers = Widest<Others...>::kBytes;
  static constexpr int kBytes = static_cast<int>(sizeof(T)) > kOthers ? static_cast<int>(sizeof(T)) : kOthers;
};
template <typename T>
struct Widest<T> {
  static constexpr int kBytes = static_cast<int>(sizeof(T));
};
template <typename... T>
inline constexpr int kVecElements = Widest<T...>::kBytes >= 16 ? 1 : 16 / Widest<T...>::kBytes;

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vec {
  T at[kCount];
};

// May vecs begin at each of these? A GPU takes a vec only from an address that its size divides.
template <int kCount, typename... T>
ARGOSY_DEVICE bool are_vec_aligned(const T*... memory) {
  return ((reinterpret_cast<u64>(memory) % (sizeof(T) * kCount) == 0) && ...);
}

// REQUIRES: are_vec_aligned<kCount>(memory), and kCount divides `first`.
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> load_vec(const T* from, i64 first) {
  return *reinterpret_cast<const Vec<T, kCount>*>(from + first);
}
template <int kCount, typename T>
ARGOSY_DEVICE void store_vec(T* to, i64 first, const Vec<T, kCount>& vec) {
  *reinterpret_cast<Vec<T, kCount>*>(to + first) = vec;
}

// The vec of what elements first, first + 1 ... of an output see of an operand that is one element,
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> splat_vec(T value) {
  Vec<T, kCount> vec;
  ARGOSY_UNROLL
  for (int k = 0; k < kCount; ++k) vec.at[k] = value;
  return vec;
}
// one that begins anew after every `period` elements,
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> load_periodic(const T* from, i64 first, i64 period) {
  i64 at = first % period;
  if (period % kCount == 0 && are_vec_aligned<kCount>(from)) return load_vec<kCount>(from, at);
  Vec<T, kCount> vec;
  ARGOSY_UNROLL
  for (int k = 0; k < kCount; ++k) {
    vec.at[k] = from[at];
    at = at + 1 == period ? 0 : at + 1;
  }
  return vec;
}
// and one whose every element serves `run` of the output.
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> load_runs(const T* from, i64 first, i64 run) {
  i64 at = first / run, left = run - (first - at * run);
  Vec<T, kCount> vec;
  ARGOSY_UNROLL
  for (int k = 0; k < kCount; ++k) {
    vec.at[k] = from[at];
    if (--left == 0) left = run, ++at;
  }
  return vec;
}

// The loop of a thread, one of `step` that share n elements: whole(first) for vecs where `together` allows them,
// one(i) for all else.
template <int kCount, typename Whole, typename One>
ARGOSY_DEVICE void for_vecs(i64 n, bool together, i64 thread, i64 step, const Whole& whole, const One& one) {
  const i64 vecs = together ? n / kCount : 0;
  for (i64 p = thread; p < vecs; p += step) whole(p * kCount);
  for (i64 i = vecs * kCount + thread; i < n; i += step) one(i);
}

}  // namespace argosy::cuda
