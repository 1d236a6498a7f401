// The casts that data and masks use most, as loops that the compiler vectorises for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/cast/cast_loops_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "argosy/ops/cast/cast_loops.h"
#include "argosy/ops/elementwise/functions/spans.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::casting {
namespace HWY_NAMESPACE {
namespace {

using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): this target's spans

template <typename To>
struct Into {
  template <typename From>
  static HWY_INLINE To call(From x) {
    return static_cast<To>(x);
  }
};

// Reads a bool as its byte, without a comparison: compilers vectorise that.
template <class To>
struct OfBool {
  static HWY_INLINE auto call(std::uint8_t x) { return To::call(static_cast<std::int32_t>((x + 255u) >> 8)); }
};

// By way of float32, as convert() does it.
struct IntoHalf {
  template <typename From>
  static HWY_INLINE bfloat16 call(From x) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, quieted = (bits >> 16) | 0x40u;
    return bfloat16::from_bits(static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quieted : rounded));
  }
};

}  // namespace

std::span<const CastRow> cast_rows_here() {
#define ARGOSY_ROW(From, To) \
  { dtype_of<From>(), dtype_of<To>(), loop_span<Into<To>, From> }
#define ARGOSY_HALF(From) \
  { dtype_of<From>(), DType::kBfloat16, loop_span<IntoHalf, From> }
#define ARGOSY_BOOL(To, Into) \
  { DType::kBool, dtype_of<To>(), loop_span<OfBool<Into>, std::uint8_t> }
  static constexpr CastRow kRows[] = {
      ARGOSY_BOOL(float, Into<float>),  ARGOSY_BOOL(double, Into<double>),
      ARGOSY_ROW(std::uint8_t, float),  ARGOSY_ROW(std::uint8_t, double),
      ARGOSY_ROW(std::int8_t, float),   ARGOSY_ROW(std::int32_t, float),
      ARGOSY_ROW(std::int32_t, double), ARGOSY_ROW(std::int64_t, float),
      ARGOSY_ROW(std::int64_t, double), ARGOSY_ROW(float, double),
      ARGOSY_ROW(double, float),        ARGOSY_BOOL(bfloat16, IntoHalf),
      ARGOSY_HALF(std::uint8_t),        ARGOSY_HALF(std::int8_t),
      ARGOSY_HALF(std::int32_t),        ARGOSY_HALF(double),
  };
#undef ARGOSY_HALF
#undef ARGOSY_BOOL
#undef ARGOSY_ROW
  return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::casting
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::casting {
HWY_EXPORT(cast_rows_here);
std::span<const CastRow> cast_rows() { return HWY_DYNAMIC_DISPATCH(cast_rows_here)(); }
}  // namespace argosy::casting
#endif
