#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

// Cross products of vectors of three, side by side.
template <typename T>
ARGOSY_DEVICE void cross(i64 vectors, const T* a, const T* b, T* y) {
  for (i64 i = first_index(); i < vectors; i += index_step()) {
    Compute<T> u[3], v[3];
    for (int k = 0; k < 3; ++k) {
      u[k] = load(a, 3 * i + k);
      v[k] = load(b, 3 * i + k);
    }
    for (int k = 0; k < 3; ++k) {
      const int p = (k + 1) % 3, q = (k + 2) % 3;
      store(y, 3 * i + k, u[p] * v[q] - u[q] * v[p]);
    }
  }
}

#define ARGOSY_CROSS(T) \
  ARGOSY_KERNEL(cross_##T, i64 vectors, const T* a, const T* b, T* y) { cross(vectors, a, b, y); }
ARGOSY_CROSS(f32)
ARGOSY_CROSS(f64)
ARGOSY_CROSS(f16)
ARGOSY_CROSS(bf16)
ARGOSY_CROSS(i64)
#undef ARGOSY_CROSS

}  // namespace argosy::cuda
