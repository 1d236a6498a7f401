// Elementwise kernels that are in no table.
#include "argosy/ops/elementwise/gpu/loops_cuda.h"

namespace argosy::cuda {

// y = (accumulate ? y : 0) + the sum of up to eight operands, in their order.
struct EightPointers {
  const void* at[8];
};
template <typename T>
ARGOSY_DEVICE void add_n(i64 n, int count, const EightPointers& from, T* y, bool accumulate) {
  constexpr int kVec = kVecElements<T>;
  const T* xs[8];  // in registers: every loop over them is unrolled
  bool together = are_vec_aligned<kVec>(y);
  ARGOSY_UNROLL
  for (int k = 0; k < 8; ++k) {
    xs[k] = static_cast<const T*>(from.at[k]);
    together = together && are_vec_aligned<kVec>(xs[k]);
  }
  const auto whole = [&](i64 first) {
    Compute<T> sums[kVec] = {};
    const Vec<T, kVec> before = accumulate ? load_vec<kVec>(static_cast<const T*>(y), first) : Vec<T, kVec>{};
    ARGOSY_UNROLL
    for (int k = 0; k < 8; ++k) {
      if (k >= count) continue;
      const Vec<T, kVec> more = load_vec<kVec>(xs[k], first);
      ARGOSY_UNROLL
      for (int i = 0; i < kVec; ++i) {
        const Compute<T> v = Number<T>::load(more.at[i]);
        sums[i] = k > 0 ? sums[i] + v : accumulate ? v + Number<T>::load(before.at[i]) : v;
      }
    }
    Vec<T, kVec> all;
    ARGOSY_UNROLL
    for (int i = 0; i < kVec; ++i) all.at[i] = Number<T>::store(sums[i]);
    store_vec<kVec>(y, first, all);
  };
  const auto one = [&](i64 i) {
    Compute<T> sum = load(xs[0], i);
    if (accumulate) sum = sum + load(y, i);
    ARGOSY_UNROLL
    for (int k = 1; k < 8; ++k) {
      if (k < count) sum = sum + load(xs[k], i);
    }
    store(y, i, sum);
  };
  for_vecs<kVec>(n, together, first_index(), index_step(), whole, one);
}
template <typename T>
ARGOSY_DEVICE void leaky_relu(i64 n, const T* x, T* y, f32 alpha) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const Compute<T> v = load(x, i);
    store(y, i, v > 0 ? v : v * static_cast<Compute<T>>(alpha));
  }
}
template <typename T>
ARGOSY_DEVICE void leaky_relu_grad(i64 n, const T* d, const T* x, T* y, f32 alpha) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const Compute<T> g = load(d, i);
    store(y, i, load(x, i) > 0 ? g : g * static_cast<Compute<T>>(alpha));
  }
}

#define ARGOSY_ADD_N(T)                                                                  \
  ARGOSY_KERNEL(add_n_##T, i64 n, int count, EightPointers from, T* y, int accumulate) { \
    add_n(n, count, from, y, accumulate != 0);                                           \
  }
ARGOSY_ADD_N(i64)
ARGOSY_ADD_N(u32)
ARGOSY_ADD_N(c64)
ARGOSY_ADD_N(c128)
// Tells, for each block, whether an element of x is infinite or NaN.
template <typename T>
ARGOSY_DEVICE void find_infinite(i64 n, const T* x, i32* found) {
  ARGOSY_SHARED i32 scratch[32];
  i32 any = 0;
  for (i64 i = first_index(); i < n; i += index_step()) {
    const Compute<T> v = load(x, i);
    if (v - v != Compute<T>(0)) any = 1;
  }
  any = block_reduce(any, scratch, [](i32 a, i32 b) { return a | b; });
  if (threadIdx.x == 0) found[blockIdx.x] = any;
}

#define ARGOSY_FLOAT_KERNELS(T)                                                                     \
  ARGOSY_ADD_N(T)                                                                                   \
  ARGOSY_KERNEL(find_infinite_##T, i64 n, const T* x, i32* found) { find_infinite(n, x, found); }   \
  ARGOSY_KERNEL(leaky_relu_##T, i64 n, const T* x, T* y, f32 alpha) { leaky_relu(n, x, y, alpha); } \
  ARGOSY_KERNEL(leaky_relu_grad_##T, i64 n, const T* d, const T* x, T* y, f32 alpha) {              \
    leaky_relu_grad(n, d, x, y, alpha);                                                             \
  }
ARGOSY_FLOAT_KERNELS(f32)
ARGOSY_FLOAT_KERNELS(f64)
ARGOSY_FLOAT_KERNELS(f16)
ARGOSY_FLOAT_KERNELS(bf16)
#undef ARGOSY_FLOAT_KERNELS
#undef ARGOSY_ADD_N

}  // namespace argosy::cuda
