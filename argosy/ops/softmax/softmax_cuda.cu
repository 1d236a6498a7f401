// Softmax and the cross-entropies: one block per row; 16-bit floats are computed in float32.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

struct Larger {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a < b || b != b ? b : a;
  }
};
struct Plus {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a + b;
  }
};

// The largest of a row, and the logarithm of the sum of exp(x - largest); x(i) gives element i.
template <typename A, typename X>
ARGOSY_DEVICE A log_sum(i64 n, const X& x, A* scratch, A* top) {
  A most = -static_cast<A>(float_of_bits(0x7f800000u));
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) most = Larger{}(most, x(i));
  *top = block_reduce(most, scratch, Larger{});
  A sum = A(0);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += ::exp(x(i) - *top);
  return ::log(block_reduce(sum, scratch, Plus{}));
}

template <typename T>
ARGOSY_DEVICE void softmax(i64 rows, i64 n, const T* x, T* y, bool logarithm) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const auto at = [=](i64 i) { return load(x, r * n + i); };
    A top;
    const A shift = log_sum<A>(n, at, scratch, &top);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A z = (at(i) - top) - shift;
      store(y, r * n + i, logarithm ? z : ::exp(z));
    }
  }
}

// Of what softmax gave, or its logarithm, and what flows back to that; dx may lie on dy.
template <typename T>
ARGOSY_DEVICE void softmax_gradient(i64 rows, i64 n, const T* y, const T* dy, T* dx, bool logarithm) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    A sum = A(0);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A g = load(dy, r * n + i);
      sum += logarithm ? g : g * load(y, r * n + i);
    }
    sum = block_reduce(sum, scratch, Plus{});
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A g = load(dy, r * n + i), p = load(y, r * n + i);
      store(dx, r * n + i, logarithm ? g - ::exp(p) * sum : (g - sum) * p);
    }
  }
}

// Logits and labels may have one row or one column for all: distances of 0.
struct Steps {
  i64 x_row, x_column, label_row, label_column;
};
template <typename T>
ARGOSY_DEVICE void cross_entropy(i64 rows, i64 n, const T* x, const T* labels, const Steps& steps, T* loss,
                                 T* backprop) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const auto at = [=](i64 i) { return load(x, r * steps.x_row + i * steps.x_column); };
    A top;
    const A shift = log_sum<A>(n, at, scratch, &top);
    A sum = A(0);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A z = (at(i) - top) - shift;
      sum -= load(labels, r * steps.label_row + i * steps.label_column) * z;
    }
    sum = block_reduce(sum, scratch, Plus{});
    if (threadIdx.x == 0) store(loss, r, sum);
    // Last, and each element by who reads it: backprop may lie on the logits.
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A z = (at(i) - top) - shift;
      store(backprop, r * n + i, ::exp(z) - load(labels, r * steps.label_row + i * steps.label_column));
    }
  }
}

// A label that is no class makes its row NaN: a GPU cannot stop for it.
template <typename T, typename L>
ARGOSY_DEVICE void sparse_cross_entropy(i64 rows, i64 n, const T* x, const L* labels, T* loss, T* backprop) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const auto at = [=](i64 i) { return load(x, r * n + i); };
    A top;
    const A shift = log_sum<A>(n, at, scratch, &top);
    const i64 label = static_cast<i64>(labels[r]);
    const bool known = label >= 0 && label < n;
    const A nan = static_cast<A>(float_of_bits(0x7fc00000u));
    if (threadIdx.x == 0) store(loss, r, known ? shift - (at(label) - top) : nan);
    __syncthreads();  // the label's logit has been read: backprop may lie on the logits
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const A p = ::exp((at(i) - top) - shift);
      store(backprop, r * n + i, known ? p - (i == label ? A(1) : A(0)) : nan);
    }
  }
}

#define ARGOSY_SOFTMAX(T)                                                                                             \
  ARGOSY_KERNEL(softmax_##T, i64 rows, i64 n, const T* x, T* y, int logarithm) {                                      \
    softmax(rows, n, x, y, logarithm != 0);                                                                           \
  }                                                                                                                   \
  ARGOSY_KERNEL(softmax_gradient_##T, i64 rows, i64 n, const T* y, const T* dy, T* dx, int logarithm) {               \
    softmax_gradient(rows, n, y, dy, dx, logarithm != 0);                                                             \
  }                                                                                                                   \
  ARGOSY_KERNEL(cross_entropy_##T, i64 rows, i64 n, const T* x, const T* labels, Steps steps, T* loss, T* backprop) { \
    cross_entropy(rows, n, x, labels, steps, loss, backprop);                                                         \
  }                                                                                                                   \
  ARGOSY_KERNEL(sparse_cross_entropy_##T##_i32, i64 rows, i64 n, const T* x, const i32* labels, T* loss,              \
                T* backprop) {                                                                                        \
    sparse_cross_entropy(rows, n, x, labels, loss, backprop);                                                         \
  }                                                                                                                   \
  ARGOSY_KERNEL(sparse_cross_entropy_##T##_i64, i64 rows, i64 n, const T* x, const i64* labels, T* loss,              \
                T* backprop) {                                                                                        \
    sparse_cross_entropy(rows, n, x, labels, loss, backprop);                                                         \
  }
ARGOSY_SOFTMAX(f32)
ARGOSY_SOFTMAX(f64)
ARGOSY_SOFTMAX(f16)
ARGOSY_SOFTMAX(bf16)

}  // namespace argosy::cuda
