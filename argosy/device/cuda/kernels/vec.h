// Vectorised access: a vec is 16 bytes of neighbouring elements, moved together. Two-byte reads would leave most of a
// GPU's bandwidth unused. So memory-bound kernels use vecs where the memory is aligned, and single elements for the
// rest. Read by nvcc, by NVRTC (this text precedes every generated kernel, so it may include numbers.h only) and by the
// host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// The elements of a vec: 16 bytes of the widest type that the kernel reads or writes.
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

// Whether vecs may start at each of these addresses. A GPU needs an address divisible by the size of the vec.
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

// A vec of an operand for the output elements first, first + 1 ... Three kinds of operand:
// * one element for all,
template <int kCount, typename T>
ARGOSY_DEVICE Vec<T, kCount> splat_vec(T value) {
  Vec<T, kCount> vec;
  ARGOSY_UNROLL
  for (int k = 0; k < kCount; ++k) vec.at[k] = value;
  return vec;
}
// * one that repeats after every `period` elements,
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
// * one whose every element serves `run` elements of the output.
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

// The loop of one of `step` threads over n elements: whole(first) for vecs if `together`, one(i) for the rest.
template <int kCount, typename Whole, typename One>
ARGOSY_DEVICE void for_vecs(i64 n, bool together, i64 thread, i64 step, const Whole& whole, const One& one) {
  const i64 vecs = together ? n / kCount : 0;
  for (i64 p = thread; p < vecs; p += step) whole(p * kCount);
  for (i64 i = vecs * kCount + thread; i < n; i += step) one(i);
}

}  // namespace argosy::cuda
