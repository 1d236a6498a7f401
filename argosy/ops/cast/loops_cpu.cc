// Casts that data and masks take all the time, as loops that the compiler vectorises for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/cast/loops_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "argosy/ops/cast/loops.h"
#include "argosy/ops/elementwise/spans.inc"

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

}  // namespace

std::span<const CastRow> cast_rows_here() {
#define ARGOSY_ROW(From, To) \
  { dtype_of<From>(), dtype_of<To>(), loop_span<Into<To>, From> }
  static constexpr CastRow kRows[] = {
      ARGOSY_ROW(bool, float),          ARGOSY_ROW(bool, double),        ARGOSY_ROW(std::uint8_t, float),
      ARGOSY_ROW(std::uint8_t, double), ARGOSY_ROW(std::int8_t, float),  ARGOSY_ROW(std::int32_t, float),
      ARGOSY_ROW(std::int32_t, double), ARGOSY_ROW(std::int64_t, float), ARGOSY_ROW(std::int64_t, double),
      ARGOSY_ROW(float, double),        ARGOSY_ROW(double, float),
  };
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
