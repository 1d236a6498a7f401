// Gathering rows by index and adding them back; one-hot rows; running sums.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

// params as [batch, outer, rows, slice], indices as [batch, count]; the output is [batch, outer, count, slice].
struct GatherSizes {
  i64 batch, outer, rows, slice, count;
};

// A row out of bounds gives zeros: a GPU kernel cannot fail.
template <typename T, typename I>
ARGOSY_DEVICE void gather(const GatherSizes& g, const T* params, const I* indices, T* to) {
  for (i64 e = first_index(); e < g.batch * g.outer * g.count * g.slice; e += index_step()) {
    const i64 s = e % g.slice, i = e / g.slice % g.count, block = e / g.slice / g.count;
    const i64 row = static_cast<i64>(indices[block / g.outer * g.count + i]);
    to[e] = row >= 0 && row < g.rows ? params[(block * g.rows + row) * g.slice + s] : T{};
  }
}

// Adds each element of dy to dx, which is zero before, in any order.
template <typename T, typename I>
ARGOSY_DEVICE void add_back(const GatherSizes& g, const T* dy, const I* indices, T* dx) {
  for (i64 e = first_index(); e < g.batch * g.outer * g.count * g.slice; e += index_step()) {
    const i64 s = e % g.slice, i = e / g.slice % g.count, block = e / g.slice / g.count;
    const i64 row = static_cast<i64>(indices[block / g.outer * g.count + i]);
    if (row >= 0 && row < g.rows) atomicAdd(dx + (block * g.rows + row) * g.slice + s, dy[e]);
  }
}
// The same in the order of the indices: one thread per element of dx, which reads all indices.
template <typename T, typename I>
ARGOSY_DEVICE void add_back_in_order(const GatherSizes& g, const T* dy, const I* indices, T* dx) {
  for (i64 e = first_index(); e < g.batch * g.outer * g.rows * g.slice; e += index_step()) {
    const i64 s = e % g.slice, row = e / g.slice % g.rows, block = e / g.slice / g.rows;
    const I* const index = indices + block / g.outer * g.count;
    Compute<T> sum = Compute<T>(0);
    for (i64 i = 0; i < g.count; ++i) {
      if (static_cast<i64>(index[i]) == row) sum += load(dy, (block * g.count + i) * g.slice + s);
    }
    store(dx, e, sum);
  }
}

template <typename T, typename I>
ARGOSY_DEVICE void one_hot(i64 n, i64 depth, i64 inner, const I* indices, const T* on, const T* off, T* to) {
  for (i64 e = first_index(); e < n * depth; e += index_step()) {
    const i64 i = e % inner, at = e / inner % depth, outer = e / inner / depth;
    to[e] = static_cast<i64>(indices[outer * inner + i]) == at ? *on : *off;
  }
}

// Prefix sums (or products) along the middle axis of x[outer][count][inner]: one thread per line.
template <bool kProduct, typename T>
ARGOSY_DEVICE void running(i64 outer, i64 count, i64 inner, const T* x, T* y, bool exclusive, bool reverse) {
  for (i64 e = first_index(); e < outer * inner; e += index_step()) {
    const i64 base = e / inner * count * inner + e % inner;
    Compute<T> sum = kProduct ? Compute<T>(1) : Compute<T>(0);
    for (i64 i = 0; i < count; ++i) {
      const i64 at = base + (reverse ? count - 1 - i : i) * inner;
      const Compute<T> v = load(x, at), joined = kProduct ? sum * v : sum + v;
      store(y, at, exclusive ? sum : joined);
      sum = joined;
    }
  }
}

#define ARGOSY_GATHER_BY(T, I)                                                                                        \
  ARGOSY_KERNEL(gather_##T##_##I, GatherSizes g, const T* params, const I* indices, T* to) {                          \
    gather(g, params, indices, to);                                                                                   \
  }                                                                                                                   \
  ARGOSY_KERNEL(one_hot_##T##_##I, i64 n, i64 depth, i64 inner, const I* indices, const T* on, const T* off, T* to) { \
    one_hot(n, depth, inner, indices, on, off, to);                                                                   \
  }
#define ARGOSY_GATHER(T) ARGOSY_GATHER_BY(T, i32) ARGOSY_GATHER_BY(T, i64)
ARGOSY_GATHER(b1)
ARGOSY_GATHER(b2)
ARGOSY_GATHER(b4)
ARGOSY_GATHER(b8)
ARGOSY_GATHER(b16)

#define ARGOSY_ADD_BACK(T, I)                                                              \
  ARGOSY_KERNEL(add_back_##T##_##I, GatherSizes g, const T* dy, const I* indices, T* dx) { \
    add_back(g, dy, indices, dx);                                                          \
  }
#define ARGOSY_ADD_IN_ORDER(T, I)                                                                   \
  ARGOSY_KERNEL(add_back_in_order_##T##_##I, GatherSizes g, const T* dy, const I* indices, T* dx) { \
    add_back_in_order(g, dy, indices, dx);                                                          \
  }
// clang-format breaks such a list elsewhere at every pass.
// clang-format off
ARGOSY_ADD_BACK(f32, i32)
ARGOSY_ADD_BACK(f32, i64)
ARGOSY_ADD_BACK(f64, i32) ARGOSY_ADD_BACK(f64, i64) ARGOSY_ADD_IN_ORDER(f32, i32) ARGOSY_ADD_IN_ORDER(f32, i64)
    ARGOSY_ADD_IN_ORDER(f64, i32) ARGOSY_ADD_IN_ORDER(f64, i64) ARGOSY_ADD_IN_ORDER(f16, i32)
        ARGOSY_ADD_IN_ORDER(f16, i64) ARGOSY_ADD_IN_ORDER(bf16, i32) ARGOSY_ADD_IN_ORDER(bf16, i64)
// clang-format on

#define ARGOSY_RUNNING(T)                                                                                             \
  ARGOSY_KERNEL(running_sum_##T, i64 outer, i64 count, i64 inner, const T* x, T* y, int exclusive, int reverse) {     \
    running<false>(outer, count, inner, x, y, exclusive != 0, reverse != 0);                                          \
  }                                                                                                                   \
  ARGOSY_KERNEL(running_product_##T, i64 outer, i64 count, i64 inner, const T* x, T* y, int exclusive, int reverse) { \
    running<true>(outer, count, inner, x, y, exclusive != 0, reverse != 0);                                           \
  }
            ARGOSY_RUNNING(f32) ARGOSY_RUNNING(f64) ARGOSY_RUNNING(f16) ARGOSY_RUNNING(bf16) ARGOSY_RUNNING(i64)

}  // namespace argosy::cuda
