// The largest of a row, in order: larger first, equal ones by place, NaN before everything. A block a row.
#include "argosy/device/cuda/kernel_source.h"

namespace argosy::cuda {

constexpr int kThreads = 128;

template <typename A>
ARGOSY_DEVICE bool before(A x, i64 at, A y, i64 y_at) {
  if (x > y) return true;
  if (x < y) return false;
  const bool nan_x = x != x, nan_y = y != y;
  if (nan_x != nan_y) return nan_x;
  return at < y_at;
}

// k times the first of those that come after the one found last.
template <typename T, typename P>
ARGOSY_DEVICE void select_top(i64 rows, i64 n, i64 k, const T* x, T* values, P* places) {
  using A = Compute<T>;
  ARGOSY_SHARED A found[kThreads];
  ARGOSY_SHARED i64 at[kThreads];
  const int me = threadIdx.x;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* const row = x + r * n;
    A last = A(0);
    i64 last_at = -1;
    for (i64 round = 0; round < k; ++round) {
      A best = A(0);
      i64 best_at = -1;
      for (i64 i = me; i < n; i += kThreads) {
        const A v = load(row, i);
        if (last_at >= 0 && !before(last, last_at, v, i)) continue;
        if (best_at < 0 || before(v, i, best, best_at)) best = v, best_at = i;
      }
      __syncthreads();
      found[me] = best;
      at[me] = best_at;
      for (int step = kThreads / 2; step > 0; step /= 2) {
        __syncthreads();
        if (me < step && at[me + step] >= 0 &&
            (at[me] < 0 || before(found[me + step], at[me + step], found[me], at[me]))) {
          found[me] = found[me + step];
          at[me] = at[me + step];
        }
      }
      __syncthreads();
      last = found[0];
      last_at = at[0];
      if (me != 0) continue;
      values[r * k + round] = row[last_at];
      places[r * k + round] = static_cast<P>(last_at);
    }
  }
}

// Every element asks how many come before it: sooner done than rounds where k is large.
template <typename T, typename P>
ARGOSY_DEVICE void rank_top(i64 rows, i64 n, i64 k, const T* x, T* values, P* places) {
  for (i64 e = first_index(); e < rows * n; e += index_step()) {
    const i64 r = e / n, i = e % n;
    const T* const row = x + r * n;
    const Compute<T> v = load(row, i);
    i64 rank = 0;
    for (i64 j = 0; j < n && rank < k; ++j) rank += before(load(row, j), j, v, i) ? 1 : 0;
    if (rank >= k) continue;
    values[r * k + rank] = row[i];
    places[r * k + rank] = static_cast<P>(i);
  }
}

// Is the target among the k best? Not where it is out of range, or anything is not finite.
struct Count {
  ARGOSY_DEVICE i64 operator()(i64 a, i64 b) const { return a + b; }
};
ARGOSY_DEVICE bool finite(f32 x) { return x - x == 0; }
template <typename I>
ARGOSY_DEVICE void in_top(i64 rows, i64 n, i64 k, const f32* x, const I* targets, bool* y) {
  ARGOSY_SHARED i64 scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const f32* const row = x + r * n;
    const i64 target = static_cast<i64>(targets[r]);
    const bool there = target >= 0 && target < n;
    i64 better = 0;
    for (i64 i = threadIdx.x; there && i < n; i += blockDim.x) {
      if (!finite(row[i])) better += n + 1;
      if (row[i] > row[target]) ++better;
    }
    const bool odd = fold_block(better / (n + 1), scratch, Count{}) > 0;
    better = fold_block(better % (n + 1), scratch, Count{});
    if (threadIdx.x == 0) y[r] = there && !odd && better < k;
  }
}

#define ARGOSY_TOP_BY(T, P)                                                                       \
  ARGOSY_KERNEL(select_top_##T##_##P, i64 rows, i64 n, i64 k, const T* x, T* values, P* places) { \
    select_top(rows, n, k, x, values, places);                                                    \
  }                                                                                               \
  ARGOSY_KERNEL(rank_top_##T##_##P, i64 rows, i64 n, i64 k, const T* x, T* values, P* places) {   \
    rank_top(rows, n, k, x, values, places);                                                      \
  }
#define ARGOSY_TOP(T) ARGOSY_TOP_BY(T, i32) ARGOSY_TOP_BY(T, i64)
ARGOSY_TOP(f32)
ARGOSY_TOP(f64)
ARGOSY_TOP(f16)
ARGOSY_TOP(bf16)
ARGOSY_TOP(i64)

ARGOSY_KERNEL(in_top_i32, i64 rows, i64 n, i64 k, const f32* x, const i32* targets, bool* y) {
  in_top(rows, n, k, x, targets, y);
}
ARGOSY_KERNEL(in_top_i64, i64 rows, i64 n, i64 k, const f32* x, const i64* targets, bool* y) {
  in_top(rows, n, k, x, targets, y);
}

}  // namespace argosy::cuda
