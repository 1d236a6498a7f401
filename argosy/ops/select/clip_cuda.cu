// Clips values to limits.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/device/cuda/kernels/strided_index.h"

namespace argosy::cuda {

// NaN stays; where the limits cross, the lower one wins. y may be x.
template <typename T>
ARGOSY_DEVICE void clip(i64 n, const T* x, const T* low, const T* high, T* y, const StridedIndex<3>& strided) {
  for (i64 e = first_index(); e < n; e += index_step()) {
    i64 at[3];
    strided.at(e, at);
    const Compute<T> v = load(x, at[0]), least = load(low, at[1]), most = load(high, at[2]);
    const Compute<T> held = v > most ? most : v;
    store(y, e, held < least ? least : held);
  }
}

#define ARGOSY_CLIP(T)                                                                                     \
  ARGOSY_KERNEL(clip_##T, i64 n, const T* x, const T* low, const T* high, T* y, StridedIndex<3> strided) { \
    clip(n, x, low, high, y, strided);                                                                     \
  }
ARGOSY_CLIP(f32)
ARGOSY_CLIP(f64)
ARGOSY_CLIP(f16)
ARGOSY_CLIP(bf16)
ARGOSY_CLIP(i64)
ARGOSY_CLIP(i8)
ARGOSY_CLIP(i16)
ARGOSY_CLIP(u8)
ARGOSY_CLIP(u16)

}  // namespace argosy::cuda
