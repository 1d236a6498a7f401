// One number in another type, defined for every value. Where C leaves the result open, it is that of TensorFlow's CPU
// kernels on x86: a number outside an integer's range becomes the lowest one.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "argosy/tensor/bits16.h"

namespace argosy {

namespace internal {
template <typename T>
constexpr bool is_complex_v = false;
template <typename T>
constexpr bool is_complex_v<std::complex<T>> = true;
template <typename T>
constexpr bool is_half_v = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

// Wide: int32 or int64, the register the machine converts in.
template <typename Wide, typename From>
Wide to_register(From x) {
  constexpr From kEnd = -static_cast<From>(std::numeric_limits<Wide>::min());  // 2^31 or 2^63, exact
  return x >= -kEnd && x < kEnd ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min();
}

template <typename To, typename From>
To float_to_integer(From x) {
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    constexpr From kHalf = static_cast<From>(0x1p63);
    if (x >= kHalf) return static_cast<To>(to_register<std::int64_t>(x - kHalf)) ^ (1ull << 63);
    return static_cast<To>(to_register<std::int64_t>(x));
  } else if constexpr (std::is_same_v<To, std::uint32_t> || sizeof(To) == 8) {
    return static_cast<To>(to_register<std::int64_t>(x));
  } else {
    return static_cast<To>(to_register<std::int32_t>(x));
  }
}
}  // namespace internal

template <typename To, typename From>
To convert(From x) {
  using internal::is_complex_v;
  using internal::is_half_v;
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(x);
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (is_half_v<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_complex_v<To>) {
    return To(convert<typename To::value_type>(x));
  } else if constexpr (is_half_v<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return internal::float_to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace argosy
