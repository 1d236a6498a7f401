// The largest of a row, in order: larger first, equal ones by place, NaN before everything.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

constexpr int kThreads = 128;
constexpr int kTile = 256;

template <typename A>
ARGOSY_DEVICE bool before(A x, i64 at, A y, i64 y_at) {
  if (x > y) return true;
  if (x < y) return false;
  const bool nan_x = x != x, nan_y = y != y;
  if (nan_x != nan_y) return nan_x;
  return at < y_at;
}

// For small k: k times the first element after the one found last. One block per row.
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

// The destination of the first k of each row: the outputs, or, within a sort, their indices in `order`, a row of n.
template <typename T, typename P>
struct Sorted {
  i64 n, k;
  i32* order;  // null: the outputs
  T* values;
  P* places;
  ARGOSY_DEVICE void put(const T* x, i64 r, i64 run, i64 rank, i32 i) const {
    if (rank >= k) return;
    if (order != nullptr) {
      order[r * n + run + rank] = i;
    } else {
      values[r * k + rank] = x[r * n + i];
      places[r * k + rank] = static_cast<P>(i);
    }
  }
};

// A merge sort of the first k alone. It begins with runs of kTile elements, each sorted by a block: the rank of an
// element is the number of elements of its tile before it. REQUIRES: blocks of kTile threads; n fits i32.
template <typename T, typename P>
ARGOSY_DEVICE void sort_tiles(i64 rows, const T* x, const Sorted<T, P>& to) {
  using A = Compute<T>;
  ARGOSY_SHARED A keys[kTile];
  const i64 n = to.n, tiles = (n + kTile - 1) / kTile;
  const int me = threadIdx.x;
  for (i64 b = blockIdx.x; b < rows * tiles; b += gridDim.x) {
    const i64 r = b / tiles, first = b % tiles * kTile;
    const int count = n - first < kTile ? static_cast<int>(n - first) : kTile;
    const A mine = me < count ? load(x + r * n, first + me) : A(0);
    keys[me] = mine;
    __syncthreads();
    int rank = 0;
    for (int j = 0; j < count; ++j) rank += before(keys[j], j, mine, me) ? 1 : 0;
    if (me < count) to.put(x, r, first, rank, static_cast<i32>(first + me));
    __syncthreads();
  }
}

// One pass: runs of `run` elements become runs of twice as many. An element's rank in the merged run is its rank in its
// own plus the number of the other run's elements before it. No two elements are equal, since their indices differ.
template <typename T, typename P>
ARGOSY_DEVICE void merge_runs(i64 rows, i64 run, const T* x, const i32* from, const Sorted<T, P>& to) {
  const i64 n = to.n, runs = (n + run - 1) / run, kept = run < to.k ? run : to.k;
  for (i64 e = first_index(); e < rows * runs * kept; e += index_step()) {
    const i64 rank = e % kept, j = e / kept % runs, r = e / kept / runs;
    if (rank >= n - j * run) continue;  // the last run is shorter
    const T* const row = x + r * n;
    const i32* const order = from + r * n;
    const i32 mine = order[j * run + rank];
    const Compute<T> v = load(row, mine);
    const i64 other = (j ^ 1) * run;
    i64 low = 0, high = n - other < kept ? n - other : kept;
    while (low < high) {
      const i64 at = (low + high) / 2;
      const i32 theirs = order[other + at];
      if (before(load(row, theirs), theirs, v, mine)) {
        low = at + 1;
      } else {
        high = at;
      }
    }
    to.put(x, r, j / 2 * 2 * run, rank + low, mine);
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
    const bool odd = block_reduce(better / (n + 1), scratch, Count{}) > 0;
    better = block_reduce(better % (n + 1), scratch, Count{});
    if (threadIdx.x == 0) y[r] = there && !odd && better < k;
  }
}

#define ARGOSY_TOP_BY(T, P)                                                                                     \
  ARGOSY_KERNEL(select_top_##T##_##P, i64 rows, i64 n, i64 k, const T* x, T* values, P* places) {               \
    select_top(rows, n, k, x, values, places);                                                                  \
  }                                                                                                             \
  ARGOSY_KERNEL(sort_tiles_##T##_##P, i64 rows, i64 n, i64 k, const T* x, i32* order, T* values, P* places) {   \
    sort_tiles(rows, x, Sorted<T, P>{n, k, order, values, places});                                             \
  }                                                                                                             \
  ARGOSY_KERNEL(merge_runs_##T##_##P, i64 rows, i64 run, i64 n, i64 k, const T* x, const i32* from, i32* order, \
                T* values, P* places) {                                                                         \
    merge_runs(rows, run, x, from, Sorted<T, P>{n, k, order, values, places});                                  \
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
