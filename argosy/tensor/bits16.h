// bfloat16 and float16: two bytes in memory, float32 in arithmetic, round to nearest even on the way back.
// Neither g++ 12 nor the C++20 library has such types. Trivially copyable; NaN stays NaN; overflow becomes infinity.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace argosy {

namespace internal {
constexpr std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
constexpr float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // subnormal in half: let float addition do the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}
constexpr float float16_value(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(tiny));
}
}  // namespace internal

#define ARGOSY_BITS16_TYPE(type)                                                                                \
  struct type {                                                                                                 \
    std::uint16_t bits = 0;                                                                                     \
    constexpr type() = default;                                                                                 \
    constexpr explicit type(float value) : bits(internal::type##_bits(value)) {}                                \
    template <typename T>                                                                                       \
    constexpr explicit type(T value) : type(static_cast<float>(value)) {}                                       \
    constexpr operator float() const {                                                                          \
      return internal::type##_value(bits);                                                                      \
    } /* NOLINT(google-explicit-constructor) */                                                                 \
    static constexpr type from_bits(std::uint16_t b) {                                                          \
      type t;                                                                                                   \
      t.bits = b;                                                                                               \
      return t;                                                                                                 \
    }                                                                                                           \
    friend constexpr type operator+(type a, type b) { return type(float(a) + float(b)); }                       \
    friend constexpr type operator-(type a, type b) { return type(float(a) - float(b)); }                       \
    friend constexpr type operator*(type a, type b) { return type(float(a) * float(b)); }                       \
    friend constexpr type operator/(type a, type b) { return type(float(a) / float(b)); }                       \
    friend constexpr type operator-(type a) { return from_bits(static_cast<std::uint16_t>(a.bits ^ 0x8000u)); } \
    constexpr type& operator+=(type b) { return *this = *this + b; }                                            \
    constexpr type& operator-=(type b) { return *this = *this - b; }                                            \
    constexpr type& operator*=(type b) { return *this = *this * b; }                                            \
    constexpr type& operator/=(type b) { return *this = *this / b; }                                            \
    friend constexpr bool operator==(type a, type b) { return float(a) == float(b); }                           \
    friend constexpr bool operator<(type a, type b) { return float(a) < float(b); }                             \
    friend constexpr bool operator>(type a, type b) { return float(a) > float(b); }                             \
    friend constexpr bool operator<=(type a, type b) { return float(a) <= float(b); }                           \
    friend constexpr bool operator>=(type a, type b) { return float(a) >= float(b); }                           \
  };
ARGOSY_BITS16_TYPE(bfloat16)
ARGOSY_BITS16_TYPE(float16)
#undef ARGOSY_BITS16_TYPE

static_assert(sizeof(bfloat16) == 2 && sizeof(float16) == 2);

}  // namespace argosy

template <>
class std::numeric_limits<argosy::bfloat16> : public std::numeric_limits<float> {
 public:
  static constexpr argosy::bfloat16 lowest() { return argosy::bfloat16::from_bits(0xff7f); }
  static constexpr argosy::bfloat16 max() { return argosy::bfloat16::from_bits(0x7f7f); }
  static constexpr argosy::bfloat16 min() { return argosy::bfloat16::from_bits(0x0080); }
  static constexpr argosy::bfloat16 epsilon() { return argosy::bfloat16::from_bits(0x3c00); }
  static constexpr argosy::bfloat16 infinity() { return argosy::bfloat16::from_bits(0x7f80); }
  static constexpr argosy::bfloat16 quiet_NaN() { return argosy::bfloat16::from_bits(0x7fc0); }
};
template <>
class std::numeric_limits<argosy::float16> : public std::numeric_limits<float> {
 public:
  static constexpr argosy::float16 lowest() { return argosy::float16::from_bits(0xfbff); }
  static constexpr argosy::float16 max() { return argosy::float16::from_bits(0x7bff); }
  static constexpr argosy::float16 min() { return argosy::float16::from_bits(0x0400); }
  static constexpr argosy::float16 epsilon() { return argosy::float16::from_bits(0x1400); }
  static constexpr argosy::float16 infinity() { return argosy::float16::from_bits(0x7c00); }
  static constexpr argosy::float16 quiet_NaN() { return argosy::float16::from_bits(0x7e00); }
};
