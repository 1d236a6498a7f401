// Reductions of gathered rows by segment; products of sparse and dense matrices. One thread computes an element of the
// result, and adds its terms in order, so sums are deterministic.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/gather/slots_cuda.h"

namespace argosy::cuda {

// 0: a sum, 1: a mean, 2: over the root of how many they are.
ARGOSY_DEVICE f64 weight(int how, i64 count) {
  const f64 n = static_cast<f64>(count < 1 ? 1 : count);
  return how == 0 ? 1.0 : how == 1 ? 1.0 / n : 1.0 / ::sqrt(n);
}

// The first of `count` ascending ids that is `id` or more.
template <typename Id>
ARGOSY_DEVICE i64 begin_of(const Id* ids, i64 count, i64 id) {
  i64 low = 0, high = count;
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    if (static_cast<i64>(ids[middle]) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct Chosen {
  i64 segments, width, rows, count;  // of x [rows, width], `count` choices
  int how;
};
// A choice outside of x adds nothing.
template <typename T, typename Row, typename Id>
ARGOSY_DEVICE void segment(const T* x, const Row* rows, const Id* ids, T* y, const Chosen& c) {
  for (i64 i = first_index(); i < c.segments * c.width; i += index_step()) {
    const i64 one = i / c.width, column = i % c.width;
    const i64 first = begin_of(ids, c.count, one), last = begin_of(ids, c.count, one + 1);
    typename Wide<T>::Type sum = 0;
    for (i64 k = first; k < last; ++k) {
      const i64 row = static_cast<i64>(rows[k]);
      if (row >= 0 && row < c.rows) sum += load(x, row * c.width + column);
    }
    store(y, i, sum * static_cast<Compute<T>>(weight(c.how, last - first)));
  }
}

// What flows back into each choice: its segment's row, as much as it counted for.
template <typename T>
ARGOSY_DEVICE void segment_spread(i64 n, i64 width, const T* dy, const i32* ids, const f32* weights, T* each) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 k = i / width;
    store(each, i, load(dy, ids[k] * width + i % width) * static_cast<Compute<T>>(weights[k]));
  }
}

// The same of ascending ids that lie on the GPU; an id outside has nothing to send.
template <typename T>
ARGOSY_DEVICE void segment_spread_sorted(i64 n, const T* dy, const i64* ids, T* each, const Chosen& c) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 id = ids[i / c.width];
    if (id < 0 || id >= c.segments) {
      store(each, i, Compute<T>(0));
      continue;
    }
    const i64 count = begin_of(ids, c.count, id + 1) - begin_of(ids, c.count, id);
    store(each, i, load(dy, id * c.width + i % c.width) * static_cast<Compute<T>>(weight(c.how, count)));
  }
}

struct SparseProduct {
  i64 count, columns, inner;  // entries of a; b is inner x columns, or the other way round where it is turned
  int column_at, turned;      // which of an entry's two indices goes along b
};
// The first slot of a row of the product takes all entries of that row.
template <typename T, typename Index>
ARGOSY_DEVICE void sparse_product(const GpuSlot* slots, const Index* indices, const T* values, const T* b, T* y,
                                  const SparseProduct& p) {
  for (i64 i = first_index(); i < p.count * p.columns; i += index_step()) {
    const i64 slot = i / p.columns, column = i % p.columns;
    if (slots[slot].start < 0 || slots[slot].first == 0) continue;
    typename Wide<T>::Type sum = 0;
    for (i64 k = slot; k >= 0; k = slots[k].next) {
      const i64 at = static_cast<i64>(indices[2 * k + p.column_at]);
      sum += load(values, k) * load(b, p.turned ? column * p.inner + at : at * p.columns + column);
    }
    store(y, slots[slot].start + column, sum);
  }
}

#define ARGOSY_SEGMENT(T, Row, Id)                                                                               \
  ARGOSY_KERNEL(sparse_segment_##T##_##Row##_##Id, const T* x, const Row* rows, const Id* ids, T* y, Chosen c) { \
    segment(x, rows, ids, y, c);                                                                                 \
  }
#define ARGOSY_SPARSE(T)                                                                                               \
  ARGOSY_SEGMENT(T, i32, i32)                                                                                          \
  ARGOSY_SEGMENT(T, i32, i64)                                                                                          \
  ARGOSY_SEGMENT(T, i64, i32)                                                                                          \
  ARGOSY_SEGMENT(T, i64, i64)                                                                                          \
  ARGOSY_KERNEL(sparse_segment_spread_##T, i64 n, i64 width, const T* dy, const i32* ids, const f32* weights,          \
                T* each) {                                                                                             \
    segment_spread(n, width, dy, ids, weights, each);                                                                  \
  }                                                                                                                    \
  ARGOSY_KERNEL(sparse_segment_spread_sorted_##T, i64 n, const T* dy, const i64* ids, T* each, Chosen c) {             \
    segment_spread_sorted(n, dy, ids, each, c);                                                                        \
  }                                                                                                                    \
  ARGOSY_KERNEL(sparse_product_##T##_i32, const GpuSlot* slots, const i32* indices, const T* values, const T* b, T* y, \
                SparseProduct p) {                                                                                     \
    sparse_product(slots, indices, values, b, y, p);                                                                   \
  }                                                                                                                    \
  ARGOSY_KERNEL(sparse_product_##T##_i64, const GpuSlot* slots, const i64* indices, const T* values, const T* b, T* y, \
                SparseProduct p) {                                                                                     \
    sparse_product(slots, indices, values, b, y, p);                                                                   \
  }
ARGOSY_SPARSE(f32)
ARGOSY_SPARSE(f64)
ARGOSY_SPARSE(f16)
ARGOSY_SPARSE(bf16)
#undef ARGOSY_SPARSE
#undef ARGOSY_SEGMENT

}  // namespace argosy::cuda
