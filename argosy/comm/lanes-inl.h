// SIMD functions that load, combine and store one vector of each element type. Included once per Highway target.
#if defined(ARGOSY_COMM_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ARGOSY_COMM_LANES_INL_H
#undef ARGOSY_COMM_LANES_INL_H
#else
#define ARGOSY_COMM_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "argosy/comm/reduction.h"
#include "argosy/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type of the arithmetic: float for the two 16-bit formats, else T itself.
template <typename T>
using Acc = std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;

template <typename T, class D>
HWY_INLINE hn::Vec<D> load(D d, const T* from) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<std::uint32_t, D> d32;
    const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
  } else if constexpr (std::is_same_v<T, float16>) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(from))));
  } else {
    return hn::LoadU(d, from);
  }
}

// Rounds like argosy/tensor/bits16.h: to nearest, ties to even, NaN stays NaN.
template <class D>
HWY_INLINE auto bfloat16_lanes([[maybe_unused]] D d, hn::Vec<D> value) {
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::BitCast(d32, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000u));
  return hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(value)), quiet, rounded));
}

template <class D>
HWY_INLINE auto float16_lanes(D d, hn::Vec<D> value) {
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::BitCast(d32, value);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 0x8000u));
  const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fffffffu));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 1u));
  const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, hn::Set(d32, 0xc8000fffu))));
  const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f));
  const auto tiny = hn::Sub(hn::BitCast(d32, shifted), hn::Set(d32, 0x3f000000u));
  const auto nan = hn::Or(hn::Set(d32, 0x7e00u), hn::And(hn::ShiftRight<13>(bits), hn::Set(d32, 0x3ffu)));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 0x38800000u)), tiny, normal);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x477fefffu)), hn::Set(d32, 0x7c00u), half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x7f800000u)), nan, half);
  return hn::Or(sign, half);
}

template <typename T, class D>
HWY_INLINE void store(D d, hn::Vec<D> value, T* to) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<std::int32_t, D> signed32;
    const auto bits = [&] {
      if constexpr (std::is_same_v<T, bfloat16>) {
        return bfloat16_lanes(d, value);
      } else {
        return float16_lanes(d, value);
      }
    }();
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(signed32, bits)), d16, reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(value, d, to);
  }
}

// Applies `op` with wrap-around. Goes through an unsigned type, since signed overflow is undefined in C++.
template <typename T, typename Op>
HWY_INLINE T wrapping(T a, T b, Op op) {
  using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
  return static_cast<T>(op(static_cast<Wide>(a), static_cast<Wide>(b)));
}

template <Reduction kReduction, typename T>
HWY_INLINE T meet_one(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kReduction == Reduction::kMin || kReduction == Reduction::kMax) {
      if (a != a) return a;
      if (b != b) return b;
    }
    if constexpr (kReduction == Reduction::kProd) return a * b;
    if constexpr (kReduction == Reduction::kSum || kReduction == Reduction::kMean) return a + b;
  } else {
    if constexpr (kReduction == Reduction::kProd) return wrapping(a, b, [](auto x, auto y) { return x * y; });
    if constexpr (kReduction == Reduction::kSum || kReduction == Reduction::kMean) {
      return wrapping(a, b, [](auto x, auto y) { return x + y; });
    }
  }
  if constexpr (kReduction == Reduction::kMin) return b < a ? b : a;
  if constexpr (kReduction == Reduction::kMax) return a < b ? b : a;
}

template <Reduction kReduction, class D>
HWY_INLINE hn::Vec<D> combine([[maybe_unused]] D d, hn::Vec<D> a, hn::Vec<D> b) {
  using T = hn::TFromD<D>;
  if constexpr (kReduction == Reduction::kSum || kReduction == Reduction::kMean) {
    return hn::Add(a, b);
  } else if constexpr (kReduction == Reduction::kProd) {
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Mul(a, b);
    } else {  // not every width has a product in vectors
      HWY_ALIGN T x[HWY_LANES(T)], y[HWY_LANES(T)];
      hn::Store(a, d, x);
      hn::Store(b, d, y);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i) x[i] = meet_one<kReduction>(x[i], y[i]);
      return hn::Load(d, x);
    }
  } else {
    const auto best = kReduction == Reduction::kMin ? hn::Min(a, b) : hn::Max(a, b);
    if constexpr (std::is_floating_point_v<T>) {
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, best));
    } else {
      return best;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#endif
