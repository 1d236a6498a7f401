// DType: the element types, all of TensorFlow's, with TensorFlow's numbers, so that files and wire formats need no
// table.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/bits16.h"

namespace argosy {

class ResourceHandle;  // element of a kResource tensor, argosy/tensor/resource.h
class Variant;         // element of a kVariant tensor, same place

enum class DType : std::uint8_t {
  kInvalid = 0,
  kFloat32 = 1,
  kFloat64 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kFloat16 = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

// TensorFlow's names: "float", "double", "half", "int32", "string" …
std::string_view dtype_name(DType dtype);
// Accepts TensorFlow's names and ours ("float32", "float64", "float16"); kInvalid when unknown.
DType parse_dtype(std::string_view name);

// Bytes of one element in memory (of the C++ object for kString, kResource and kVariant).
std::size_t element_bytes(DType dtype);

// Float, double, bfloat16, float16.
constexpr bool is_floating(DType d) {
  return d == DType::kFloat32 || d == DType::kFloat64 || d == DType::kBfloat16 || d == DType::kFloat16;
}
// Complex64 or complex128.
constexpr bool is_complex(DType d) { return d == DType::kComplex64 || d == DType::kComplex128; }
// Signed and unsigned, not quantized.
constexpr bool is_integer(DType d) {
  return d == DType::kInt8 || d == DType::kInt16 || d == DType::kInt32 || d == DType::kInt64 || d == DType::kUint8 ||
         d == DType::kUint16 || d == DType::kUint32 || d == DType::kUint64;
}
// True for elements of plain bytes: memcpy may copy them, and any memory and wire may hold them. False for kString,
// kResource and kVariant, whose elements are C++ objects in host memory.
constexpr bool is_plain(DType d) {
  return d != DType::kString && d != DType::kResource && d != DType::kVariant && d != DType::kInvalid;
}

// The DType of a C++ type: dtype_of<float>() == DType::kFloat32.
template <typename T>
constexpr DType dtype_of() = delete;
// clang-format would re-break this list every time.
// clang-format off
#define ARGOSY_DTYPES(X)                                                                                       \
  X(float, kFloat32) X(double, kFloat64) X(bfloat16, kBfloat16) X(float16, kFloat16) X(std::int8_t, kInt8)     \
  X(std::int16_t, kInt16) X(std::int32_t, kInt32) X(std::int64_t, kInt64) X(std::uint8_t, kUint8)              \
  X(std::uint16_t, kUint16) X(std::uint32_t, kUint32) X(std::uint64_t, kUint64) X(bool, kBool)                 \
  X(std::complex<float>, kComplex64) X(std::complex<double>, kComplex128) X(std::string, kString)              \
  X(ResourceHandle, kResource) X(Variant, kVariant)
// Specialises dtype_of().
#define ARGOSY_DTYPE_OF(type, name) \
  template <>                       \
  constexpr DType dtype_of<type>() { return DType::name; }
// clang-format on
ARGOSY_DTYPES(ARGOSY_DTYPE_OF)
#undef ARGOSY_DTYPE_OF

// Calls fn.template operator()<T>() with the C++ type of the dtype, or returns the error that `op` does not support it.
// fn returns Status.
//   return dispatch<FloatTypes>(x.dtype(), "Softmax", [&]<typename T>() { … return ok_status(); });
template <typename... Ts>
struct TypeList {};
using FloatTypes = TypeList<float, double, bfloat16, float16>;  // for dispatch_list()
// For dispatch_list().
using IntegerTypes = TypeList<std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::int16_t, std::uint16_t,
                              std::uint32_t, std::uint64_t>;
// Floating and integer types.
using RealTypes = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                           std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
// Real and complex types.
using NumberTypes =
    TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::int16_t,
             std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>, std::complex<double>>;
using IndexTypes = TypeList<std::int32_t, std::int64_t>;  // dtypes of indices

Status unsupported_dtype(std::string_view op, DType dtype);  // UNIMPLEMENTED, with the op's name

// Calls fn.operator()<T>() with the C++ type T of `dtype`, one of the list; else unsupported_dtype().
template <typename... Ts, typename Fn>
Status dispatch_list(TypeList<Ts...>, DType dtype, std::string_view op, Fn&& fn) {
  Status status;
  const bool found = ((dtype == dtype_of<Ts>() ? (status = fn.template operator()<Ts>(), true) : false) || ...);
  if (!found) return unsupported_dtype(op, dtype);
  return status;
}
// The same with the list as a template argument.
template <typename List, typename Fn>
Status dispatch(DType dtype, std::string_view op, Fn&& fn) {
  return dispatch_list(List{}, dtype, op, std::forward<Fn>(fn));
}
// An element of 16 bytes, for dispatch_size().
struct Bytes16 {
  std::uint64_t words[2];  // bits, not numbers
};
// As dispatch(), but T depends only on the element size (1, 2, 4, 8 or 16 bytes). For kernels that only move plain
// elements: fewer instantiations.
template <typename Fn>
Status dispatch_size(DType dtype, std::string_view op, Fn&& fn) {
  if (!is_plain(dtype)) return unsupported_dtype(op, dtype);
  switch (element_bytes(dtype)) {
    case 1: return fn.template operator()<std::uint8_t>();
    case 2: return fn.template operator()<std::uint16_t>();
    case 4: return fn.template operator()<std::uint32_t>();
    case 8: return fn.template operator()<std::uint64_t>();
    case 16: return fn.template operator()<Bytes16>();
    default: return unsupported_dtype(op, dtype);
  }
}

}  // namespace argosy
