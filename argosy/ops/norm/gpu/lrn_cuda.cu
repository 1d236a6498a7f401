// Local response normalisation: one thread per element, which sums over the neighbouring channels.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

struct LrnNumbers {
  i64 elements, channels, radius;
  f32 bias, alpha, beta;
};

// The sum of term(i) over the neighbours of element e, itself among them.
template <typename Term>
ARGOSY_DEVICE f32 around(const LrnNumbers& n, i64 e, const Term& term) {
  const i64 c = e % n.channels, row = e - c;
  const i64 first = c < n.radius ? 0 : c - n.radius;
  const i64 last = n.channels - 1 - c < n.radius ? n.channels - 1 : c + n.radius;
  f32 sum = 0;
  for (i64 i = first; i <= last; ++i) sum += term(row + i);
  return sum;
}
template <typename T>
ARGOSY_DEVICE f32 norm_at(const LrnNumbers& n, const T* x, i64 e) {
  return n.bias + n.alpha * around(n, e, [=](i64 i) { return load(x, i) * load(x, i); });
}

// dx[k] = d[k] norm[k]^-beta - 2 alpha beta x[k] * sum over neighbours of d y / norm
template <typename T>
ARGOSY_DEVICE void lrn_gradient(const LrnNumbers& n, const T* d, const T* x, const T* y, const f32* norm, T* dx) {
  for (i64 e = first_index(); e < n.elements; e += index_step()) {
    const f32 sum = around(n, e, [=](i64 i) { return load(d, i) * load(y, i) / norm[i]; });
    store(dx, e, load(d, e) * ::pow(norm[e], -n.beta) - 2 * n.alpha * n.beta * load(x, e) * sum);
  }
}

#define ARGOSY_LRN(T)                                                                                     \
  ARGOSY_KERNEL(lrn_##T, LrnNumbers n, const T* x, T* y) {                                                \
    for (i64 e = first_index(); e < n.elements; e += index_step()) {                                      \
      store(y, e, load(x, e) * ::pow(norm_at(n, x, e), -n.beta));                                         \
    }                                                                                                     \
  }                                                                                                       \
  ARGOSY_KERNEL(lrn_norm_##T, LrnNumbers n, const T* x, f32* norm) {                                      \
    for (i64 e = first_index(); e < n.elements; e += index_step()) norm[e] = norm_at(n, x, e);            \
  }                                                                                                       \
  ARGOSY_KERNEL(lrn_grad_##T, LrnNumbers n, const T* d, const T* x, const T* y, const f32* norm, T* dx) { \
    lrn_gradient(n, d, x, y, norm, dx);                                                                   \
  }
ARGOSY_LRN(f32)
ARGOSY_LRN(f16)
ARGOSY_LRN(bf16)

}  // namespace argosy::cuda
