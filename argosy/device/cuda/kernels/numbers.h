// Number types of kernels. Three compilers read this file:
// * nvcc: kernels of the plug-in.
// * NVRTC: this text precedes every generated kernel, so it may include nothing.
// * the host's compiler: kernels that run on the fake driver.
//
// 16-bit floats are storage only: arithmetic is float32, rounded to nearest even on the way back, as everywhere in
// Argosy. So cuda_fp16.h is not needed.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define ARGOSY_DEVICE __device__ __forceinline__
#define ARGOSY_UNROLL _Pragma("unroll")  // what a loop indexes is to stay in registers
#else
#include <math.h>  // names of the global namespace, for every type
#include <cstring>
#define ARGOSY_DEVICE inline
#define ARGOSY_UNROLL
#endif

namespace argosy::cuda {

// The largest block that a kernel is launched with. Every kernel is compiled for it: its registers then fit into a
// multiprocessor, and no launch fails for lack of registers.
inline constexpr int kMostThreads = 256;

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct c64 {
  f32 re, im;
};
struct c128 {
  f64 re, im;
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
ARGOSY_DEVICE f32 float_of_bits(u32 bits) { return __uint_as_float(bits); }
ARGOSY_DEVICE u32 bits_of_float(f32 value) { return __float_as_uint(value); }
ARGOSY_DEVICE f32 widen(f16 x) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
ARGOSY_DEVICE f16 narrow_f16(f32 value) {
  f16 x;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(value));
  return x;
}
#else
ARGOSY_DEVICE f32 float_of_bits(u32 bits) {
  f32 value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
ARGOSY_DEVICE u32 bits_of_float(f32 value) {
  u32 bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
ARGOSY_DEVICE f32 widen(f16 x) {
  const u32 sign = static_cast<u32>(x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of_bits(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x0400u) return float_of_bits(sign | ((magnitude << 13) + 0x38000000u));
  return float_of_bits(sign | bits_of_float(static_cast<f32>(magnitude) * 0x1p-24f));
}
ARGOSY_DEVICE f16 narrow_f16(f32 value) {
  const u32 bits = bits_of_float(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<u16>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu))};
  if (magnitude >= 0x477ff000u) return {static_cast<u16>(sign | 0x7c00u)};  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // subnormal in half: adding 0.5 rounds at the right bit
    return {static_cast<u16>(sign | (bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u))};
  }
  return {static_cast<u16>(sign | ((magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13))};
}
#endif
ARGOSY_DEVICE f32 widen(bf16 x) { return float_of_bits(static_cast<u32>(x.bits) << 16); }
// With integers, because the instruction needs compute capability 8.0.
ARGOSY_DEVICE bf16 narrow_bf16(f32 value) {
  const u32 bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<u16>((bits >> 16) | 0x40u)};
  return {static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// The type in which T is computed: Number<f16>::Compute is f32. load and store convert.
template <typename T>
struct Number {
  using Compute = T;
  static ARGOSY_DEVICE T load(T x) { return x; }
  static ARGOSY_DEVICE T store(T x) { return x; }
};
template <>
struct Number<f16> {
  using Compute = f32;
  static ARGOSY_DEVICE f32 load(f16 x) { return widen(x); }
  static ARGOSY_DEVICE f16 store(f32 x) { return narrow_f16(x); }
};
template <>
struct Number<bf16> {
  using Compute = f32;
  static ARGOSY_DEVICE f32 load(bf16 x) { return widen(x); }
  static ARGOSY_DEVICE bf16 store(f32 x) { return narrow_bf16(x); }
};
template <typename T>
using Compute = typename Number<T>::Compute;

// The type of long sums of T.
template <typename T>
struct Wide {
  using Type = Compute<T>;
};

template <typename T>
struct Kind {
  static constexpr bool floating = false, is_signed = false;
};
#define ARGOSY_KIND(T, is_floating, has_sign)                           \
  template <>                                                           \
  struct Kind<T> {                                                      \
    static constexpr bool floating = is_floating, is_signed = has_sign; \
  };
ARGOSY_KIND(f32, true, true)
ARGOSY_KIND(f64, true, true)
ARGOSY_KIND(i8, false, true)
ARGOSY_KIND(i16, false, true)
ARGOSY_KIND(i32, false, true)
ARGOSY_KIND(i64, false, true)
#undef ARGOSY_KIND

// The real part type of T, which may be complex.
template <typename T>
struct PartOf {
  using Type = T;
};
template <>
struct PartOf<c64> {
  using Type = f32;
};
template <>
struct PartOf<c128> {
  using Type = f64;
};

ARGOSY_DEVICE c64 operator+(c64 a, c64 b) { return {a.re + b.re, a.im + b.im}; }
ARGOSY_DEVICE c128 operator+(c128 a, c128 b) { return {a.re + b.re, a.im + b.im}; }

}  // namespace argosy::cuda
