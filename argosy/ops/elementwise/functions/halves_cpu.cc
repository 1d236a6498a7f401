// 16-bit floats to float32 and back.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/elementwise/functions/halves_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/elementwise/functions/spans.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::elementwise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void widen_bfloat16(const std::uint16_t* x, float* y, std::int64_t n) {
  auto* const bits = reinterpret_cast<std::uint32_t*>(y);
  ARGOSY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) bits[i] = static_cast<std::uint32_t>(x[i]) << 16;
}

void narrow_bfloat16(const float* x, std::uint16_t* y, std::int64_t n) {
  const auto* const bits = reinterpret_cast<const std::uint32_t*>(x);
  ARGOSY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t b = bits[i];
    const std::uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    const std::uint32_t quieted = (b >> 16) | 0x40u;
    y[i] = static_cast<std::uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? quieted : rounded);
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr bool kConverts = true;  // in hardware
#else
constexpr bool kConverts = false;
#endif

void widen_float16(const std::uint16_t* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  if constexpr (kConverts) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> halves;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto* const from = reinterpret_cast<const hwy::float16_t*>(x);
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(halves, from + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = internal::float16_value(x[i]);
}

void narrow_float16(const float* x, std::uint16_t* y, std::int64_t n) {
  std::int64_t i = 0;
  if constexpr (kConverts) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> halves;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto* const to = reinterpret_cast<hwy::float16_t*>(y);
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(halves, hn::LoadU(d, x + i)), halves, to + i);
  }
  for (; i < n; ++i) y[i] = internal::float16_bits(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {
namespace elementwise {
HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(narrow_bfloat16);
HWY_EXPORT(widen_float16);
HWY_EXPORT(narrow_float16);
}  // namespace elementwise

void widen(DType from, const void* x, float* y, std::int64_t n) {
  using namespace elementwise;  // NOLINT(google-build-using-namespace): where the dispatch tables are
  const auto* const bits = static_cast<const std::uint16_t*>(x);
  from == DType::kBfloat16 ? HWY_DYNAMIC_DISPATCH(widen_bfloat16)(bits, y, n)
                           : HWY_DYNAMIC_DISPATCH(widen_float16)(bits, y, n);
}

void narrow(DType to, const float* x, void* y, std::int64_t n) {
  using namespace elementwise;  // NOLINT(google-build-using-namespace): where the dispatch tables are
  auto* const bits = static_cast<std::uint16_t*>(y);
  to == DType::kBfloat16 ? HWY_DYNAMIC_DISPATCH(narrow_bfloat16)(x, bits, n)
                         : HWY_DYNAMIC_DISPATCH(narrow_float16)(x, bits, n);
}

}  // namespace argosy
#endif
