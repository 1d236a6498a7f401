// Layer normalisation: one block per row. For sums over rows there is one thread per column and chunk of rows; chunks
// are merged in order.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

struct Plus {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a + b;
  }
};

// Mean of a row and 1 / sqrt(variance + epsilon), for every thread of the block.
template <typename T, typename A>
ARGOSY_DEVICE A row_moments(i64 n, const T* row, A epsilon, A* scratch, A* inverse) {
  A sum = A(0);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += load(row, i);
  const A mean = block_reduce(sum, scratch, Plus{}) / static_cast<A>(n);
  A squares = A(0);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    const A away = load(row, i) - mean;
    squares += away * away;
  }
  *inverse = A(1) / ::sqrt(block_reduce(squares, scratch, Plus{}) / static_cast<A>(n) + epsilon);
  return mean;
}

// y may be x.
template <typename T>
ARGOSY_DEVICE void layer_norm(i64 rows, i64 n, const T* x, const T* scale, const T* offset, f32 epsilon, T* y) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    A inverse;
    const A mean = row_moments(n, x + r * n, static_cast<A>(epsilon), scratch, &inverse);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      store(y, r * n + i, (load(x, r * n + i) - mean) * inverse * load(scale, i) + load(offset, i));
    }
  }
}

// a * b rounded by itself. nvcc may make one rounding of a product and the sum that follows: a - a is not 0 then, and a
// row of one element has a gradient.
#if defined(__CUDACC__)
ARGOSY_DEVICE f32 rounded_product(f32 a, f32 b) { return __fmul_rn(a, b); }
ARGOSY_DEVICE f64 rounded_product(f64 a, f64 b) { return __dmul_rn(a, b); }
#else
ARGOSY_DEVICE f32 rounded_product(f32 a, f32 b) { return a * b; }
ARGOSY_DEVICE f64 rounded_product(f64 a, f64 b) { return a * b; }
#endif

// dx, and the moments of every row for the sums over columns.
template <typename T>
ARGOSY_DEVICE void layer_norm_grad(i64 rows, i64 n, const T* dy, const T* x, const T* scale, f32 epsilon, T* dx,
                                   Compute<T>* moments) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    A inverse;
    const A mean = row_moments(n, x + r * n, static_cast<A>(epsilon), scratch, &inverse);
    A sum = A(0), sum_hat = A(0);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A d = rounded_product(load(dy, r * n + i), load(scale, i));
      sum += d;
      sum_hat += d * (load(x, r * n + i) - mean) * inverse;
    }
    sum = block_reduce(sum, scratch, Plus{}) / static_cast<A>(n);
    sum_hat = block_reduce(sum_hat, scratch, Plus{}) / static_cast<A>(n);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A d = rounded_product(load(dy, r * n + i), load(scale, i));
      const A hat = (load(x, r * n + i) - mean) * inverse;
      store(dx, r * n + i, inverse * (d - sum - hat * sum_hat));
    }
    if (threadIdx.x == 0) {
      moments[2 * r] = mean;
      moments[2 * r + 1] = inverse;
    }
  }
}

// parts[chunk][2][n]: sums of dy * normalised x, and of dy.
template <typename T>
ARGOSY_DEVICE void column_sums(i64 rows, i64 n, int chunks, const T* dy, const T* x, const Compute<T>* moments,
                               Compute<T>* parts) {
  using A = Compute<T>;
  for (i64 at = first_index(); at < chunks * n; at += index_step()) {
    const i64 i = at % n, chunk = at / n;
    A sum = A(0), sum_hat = A(0);
    for (i64 r = rows * chunk / chunks; r < rows * (chunk + 1) / chunks; ++r) {
      const A d = load(dy, r * n + i);
      sum += d;
      sum_hat += d * (load(x, r * n + i) - moments[2 * r]) * moments[2 * r + 1];
    }
    parts[2 * chunk * n + i] = sum_hat;
    parts[(2 * chunk + 1) * n + i] = sum;
  }
}
template <typename T>
ARGOSY_DEVICE void merge_columns(i64 n, int chunks, const Compute<T>* parts, T* dscale, T* doffset) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    Compute<T> scale = Compute<T>(0), offset = Compute<T>(0);
    for (int k = 0; k < chunks; ++k) {
      scale += parts[2 * k * n + i];
      offset += parts[(2 * k + 1) * n + i];
    }
    store(dscale, i, scale);
    store(doffset, i, offset);
  }
}

#define ARGOSY_LAYER_NORM(T)                                                                                       \
  ARGOSY_KERNEL(layer_norm_##T, i64 rows, i64 n, const T* x, const T* scale, const T* offset, f32 epsilon, T* y) { \
    layer_norm(rows, n, x, scale, offset, epsilon, y);                                                             \
  }                                                                                                                \
  ARGOSY_KERNEL(layer_norm_grad_##T, i64 rows, i64 n, const T* dy, const T* x, const T* scale, f32 epsilon, T* dx, \
                Compute<T>* moments) {                                                                             \
    layer_norm_grad(rows, n, dy, x, scale, epsilon, dx, moments);                                                  \
  }                                                                                                                \
  ARGOSY_KERNEL(layer_norm_columns_##T, i64 rows, i64 n, int chunks, const T* dy, const T* x,                      \
                const Compute<T>* moments, Compute<T>* parts) {                                                    \
    column_sums(rows, n, chunks, dy, x, moments, parts);                                                           \
  }                                                                                                                \
  ARGOSY_KERNEL(layer_norm_merge_##T, i64 n, int chunks, const Compute<T>* parts, T* dscale, T* doffset) {         \
    merge_columns(n, chunks, parts, dscale, doffset);                                                              \
  }
ARGOSY_LAYER_NORM(f32)
ARGOSY_LAYER_NORM(f64)
ARGOSY_LAYER_NORM(f16)
ARGOSY_LAYER_NORM(bf16)

}  // namespace argosy::cuda
