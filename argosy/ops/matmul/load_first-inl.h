// load_first(): loads the first n lanes of a vector, and reads no byte behind them. Included once per Highway target.
//
// Highway's MaskedLoad reads the whole vector on targets without masks in hardware (SSE4 and older, emulation): past
// the end of a row, and of its buffer.
#if defined(ARGOSY_OPS_MATMUL_LOAD_FIRST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ARGOSY_OPS_MATMUL_LOAD_FIRST_INL_H
#undef ARGOSY_OPS_MATMUL_LOAD_FIRST_INL_H
#else
#define ARGOSY_OPS_MATMUL_LOAD_FIRST_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {

// Loads n lanes, 0 <= n <= Lanes(d). The other lanes are 0.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_first(D d, const hwy::HWY_NAMESPACE::TFromD<D>* from, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_MEM_OPS_MIGHT_FAULT
  if (n == hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  std::memcpy(lanes, from, n * sizeof(hn::TFromD<D>));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#endif
