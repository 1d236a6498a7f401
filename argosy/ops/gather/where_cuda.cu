// Where: coordinates of the elements that are not zero, in row-major order. Each block counts those of one part. One
// block computes the prefix sum of the counts. Then each block writes the coordinates of its part.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

constexpr int kWhereThreads = 256;  // of a block
constexpr i64 kWherePart = 4096;    // elements: 16 neighbours a thread
constexpr i64 kWhereEach = kWherePart / kWhereThreads;

ARGOSY_DEVICE bool is_set(f16 x) { return widen(x) != 0.0f; }
ARGOSY_DEVICE bool is_set(bf16 x) { return widen(x) != 0.0f; }
ARGOSY_DEVICE bool is_set(c64 x) { return x.re != 0.0f || x.im != 0.0f; }
ARGOSY_DEVICE bool is_set(c128 x) { return x.re != 0.0 || x.im != 0.0; }
template <typename T>
ARGOSY_DEVICE bool is_set(T x) {
  return x != T(0);
}

template <typename T>
ARGOSY_DEVICE i64 count_set(const T* x, i64 first, i64 last) {
  i64 count = 0;
  for (i64 i = first; i < last; ++i) count += is_set(x[i]) ? 1 : 0;
  return count;
}

template <typename T>
ARGOSY_DEVICE void where_count(i64 n, i64 parts, const T* x, i64* counts) {
  ARGOSY_SHARED i64 scratch[32];
  for (i64 part = blockIdx.x; part < parts; part += gridDim.x) {
    i64 count = 0;
    const i64 end = (part + 1) * kWherePart < n ? (part + 1) * kWherePart : n;
    for (i64 i = part * kWherePart + threadIdx.x; i < end; i += blockDim.x) count += is_set(x[i]) ? 1 : 0;
    count = block_reduce(count, scratch, [](i64 a, i64 b) { return a + b; });
    if (threadIdx.x == 0) counts[part] = count;
  }
}

// Exclusive prefix sum, in place; counts[parts] is the total. One block, of kWhereThreads threads.
ARGOSY_KERNEL(where_add_up, i64 parts, i64* counts) {
  ARGOSY_SHARED i64 sums[kWhereThreads];
  const int me = threadIdx.x;
  const i64 each = (parts + kWhereThreads - 1) / kWhereThreads;
  const i64 first = me * each < parts ? me * each : parts, last = first + each < parts ? first + each : parts;
  i64 sum = 0;
  for (i64 i = first; i < last; ++i) sum += counts[i];
  sums[me] = sum;
  __syncthreads();
  i64 before = 0;
  for (int k = 0; k < me; ++k) before += sums[k];
  for (i64 i = first; i < last; ++i) {
    const i64 here = counts[i];
    counts[i] = before;
    before += here;
  }
  if (me == kWhereThreads - 1) counts[parts] = before;
}

struct WhereSizes {
  static constexpr int kMaxRank = 8;
  int rank;
  i64 sizes[kMaxRank];
};
template <typename T>
ARGOSY_DEVICE void where_write(i64 n, i64 parts, const T* x, const i64* begins, i64* y, const WhereSizes& shape) {
  ARGOSY_SHARED i64 counts[kWhereThreads];
  const int me = threadIdx.x;
  for (i64 part = blockIdx.x; part < parts; part += gridDim.x) {
    i64 first = part * kWherePart + me * kWhereEach, last = first + kWhereEach;
    if (first > n) first = n;
    if (last > n) last = n;
    __syncthreads();
    counts[me] = count_set(x, first, last);
    __syncthreads();
    i64 to = begins[part];
    for (int k = 0; k < me; ++k) to += counts[k];
    for (i64 i = first; i < last; ++i) {
      if (!is_set(x[i])) continue;
      i64 rest = i;
      for (int axis = shape.rank - 1; axis >= 0; --axis) {
        y[to * shape.rank + axis] = rest % shape.sizes[axis];
        rest /= shape.sizes[axis];
      }
      ++to;
    }
  }
}

#define ARGOSY_WHERE(T)                                                                                           \
  ARGOSY_KERNEL(where_count_##T, i64 n, i64 parts, const T* x, i64* counts) { where_count(n, parts, x, counts); } \
  ARGOSY_KERNEL(where_write_##T, i64 n, i64 parts, const T* x, const i64* begins, i64* y, WhereSizes shape) {     \
    where_write(n, parts, x, begins, y, shape);                                                                   \
  }
ARGOSY_WHERE(f32)
ARGOSY_WHERE(f64)
ARGOSY_WHERE(f16)
ARGOSY_WHERE(bf16)
ARGOSY_WHERE(i8)
ARGOSY_WHERE(i64)
ARGOSY_WHERE(u8)
ARGOSY_WHERE(bool)
ARGOSY_WHERE(c64)
ARGOSY_WHERE(c128)
#undef ARGOSY_WHERE

}  // namespace argosy::cuda
