#include "argosy/ops/cast/cast.h"

#include <gtest/gtest.h>

#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using enum DType;
constexpr DType kAll[] = {kFloat32, kFloat64, kBfloat16, kFloat16, kInt8, kInt16,     kInt32,     kInt64,
                          kUint8,   kUint16,  kUint32,   kUint64,  kBool, kComplex64, kComplex128};

// The numbers as a tensor of any of these dtypes.
Tensor tensor_of(DType dtype, std::initializer_list<double> numbers) {
  Tensor wide = Tensor::vector<double>(numbers);
  if (dtype == kBool) {
    Tensor t = Tensor::zeros(kBool, wide.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<bool>()[i] = wide.data<double>()[i] != 0;
    return t;
  }
  if (dtype == kComplex64 || dtype == kComplex128) {
    Tensor t = Tensor::zeros(kComplex128, wide.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<std::complex<double>>()[i] = {wide.data<double>()[i], 0.5};
    if (dtype == kComplex128) return t;
    Tensor narrow = Tensor::zeros(kComplex64, wide.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      narrow.data<std::complex<float>>()[i] = std::complex<float>(t.data<std::complex<double>>()[i]);
    }
    return narrow;
  }
  return cast_to(wide, dtype);
}

TEST(CastOps, EveryPair) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      const bool is_signed = from != kUint8 && from != kUint16 && from != kUint32 && from != kUint64;
      const Tensor x = tensor_of(from, {0, 1, 3, is_signed ? -2.0 : 2.0, 100, is_floating(from) ? 2.75 : 7, 64});
      check({.op = "Cast", .inputs = {x}, .attrs = {{"DstT", to}}, .other_dtypes = false});
    }
  }
}

TEST(CastOps, NumbersThatDoNotFit) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor wild =
      Tensor::vector<float>({300, -1, -300.5f, 70000, 3e9f, -3e9f, 5e9f, 1e19f, 2e19f, -1e19f, inf, -inf, nan, 1e-9f});
  for (const DType to : kAll) {
    const char* const excuse = to == kUint32 || to == kUint64 ? "what does not fit depends on its processor" : "";
    for (const Tensor& x : {wild, cast_to(wild, kFloat64)}) {
      check({.op = "Cast", .inputs = {x}, .attrs = {{"DstT", to}}, .unlike_tensorflow = excuse});
    }
  }
  const Tensor big = Tensor::vector<std::int64_t>({INT64_MAX, INT64_MIN, 1ll << 33, -1, 65536 + 5, 16777217});
  for (const DType to : kAll) check({.op = "Cast", .inputs = {big}, .attrs = {{"DstT", to}}});
}

TEST(CastOps, RoundsOrTruncates) {
  // Halfway cases of bfloat16 (7 fraction bits) and float16 (10): to even; with Truncate, towards zero.
  const Tensor x =
      Tensor::vector<float>({1.00390625f, 1.01171875f, -1.0117188f, 1.00048828125f, 1.00146484375f, 65520, 1e-8f});
  for (const DType from : {kFloat32, kFloat64}) {
    for (const DType to : {kBfloat16, kFloat16}) {
      for (const bool truncate : {false, true}) {
        check({.op = "Cast",
               .inputs = {cast_to(x, from)},
               .attrs = {{"DstT", to}, {"Truncate", truncate}},
               .tolerance = 0});
      }
    }
  }
  const auto half = [](float v) { return Tensor::scalar(bfloat16(v)); };
  check({.op = "Cast",
         .inputs = {Tensor::scalar(1.01171875f)},
         .attrs = {{"DstT", kBfloat16}},
         .expect = {half(1.015625f)}});
  check({.op = "Cast",
         .inputs = {Tensor::scalar(1.01171875f)},
         .attrs = {{"DstT", kBfloat16}, {"Truncate", true}},
         .expect = {half(1.0078125f)},
         .check_gradient = false});
}

TEST(CastOps, Refusals) {
  check({.op = "Cast", .inputs = {Tensor::scalar("1")}, .attrs = {{"DstT", kFloat32}}, .error = Code::kUnimplemented});
}

TEST(CastOps, Bitcast) {
  check({.op = "Bitcast",
         .inputs = {Tensor::scalar(1.0f)},
         .attrs = {{"type", kInt32}},
         .expect = {Tensor::scalar(0x3f800000)},
         .other_dtypes = false});
  check({.op = "Bitcast",
         .inputs = {Tensor::vector<std::int32_t>({0x01020304, 5})},
         .attrs = {{"type", kUint8}},
         .expect = {Tensor::of<std::uint8_t>({2, 4}, {4, 3, 2, 1, 5, 0, 0, 0})},
         .other_dtypes = false});
  check({.op = "Bitcast",
         .inputs = {Tensor::of<std::uint8_t>({2, 4}, {4, 3, 2, 1, 5, 0, 0, 0})},
         .attrs = {{"type", kInt32}},
         .expect = {Tensor::vector<std::int32_t>({0x01020304, 5})},
         .other_dtypes = false});
  check({.op = "Bitcast",
         .inputs = {Tensor::vector<std::uint8_t>({4, 3, 2})},
         .attrs = {{"type", kInt32}},
         .error = Code::kInvalidArgument});
}

TEST(CastOps, ComplexParts) {
  using C = std::complex<float>;
  const Tensor z = Tensor::vector<C>({{3, 4}, {0, -1}, {-2, 0}});
  const auto floats = [](std::initializer_list<float> v) { return Tensor::vector<float>(v); };
  check({.op = "ComplexAbs", .inputs = {z}, .expect = {floats({5, 1, 2})}});
  check({.op = "Real", .inputs = {z}, .expect = {floats({3, 0, -2})}});
  check({.op = "Imag", .inputs = {z}, .expect = {floats({4, -1, 0})}});
  check({.op = "Angle", .inputs = {z}, .tolerance = 1e-6});
  check({.op = "Conj", .inputs = {z}, .expect = {Tensor::vector<C>({{3, -4}, {0, 1}, {-2, -0.0f}})}});
  check({.op = "Complex",
         .inputs = {floats({1, 2}), Tensor::scalar(5.0f)},
         .expect = {Tensor::vector<C>({{1, 5}, {2, 5}})},
         .other_dtypes = false,
         .check_gradient = false});
  check({.op = "Complex",
         .inputs = {Tensor::scalar(1.0), Tensor::scalar(5.0)},
         .attrs = {{"Tout", kComplex128}},
         .expect = {Tensor::scalar(std::complex<double>(1, 5))},
         .other_dtypes = false,
         .check_gradient = false});
}

TEST(CastOps, Gradients) {
  const Tensor x = random_tensor(kFloat64, {2, 3}, 1, 0.2, 2), y = random_tensor(kFloat64, {2, 3}, 2, -2, -0.2);
  const auto z_of = [](const std::vector<Value>& xs) { return complex(xs[0], xs[1]); };
  check_gradients({.ops = {"Complex", "Real", "Imag"}, .at = {x, y}, .f = [&](Graph&, const auto& xs) {
                     const Value w = z_of(xs) * z_of(xs);
                     return std::vector<Value>{real(w), imag(w)};
                   }});
  check_gradients({.ops = {"Conj"}, .at = {x, y}, .f = [&](Graph&, const auto& xs) {
                     const Value w = conj(z_of(xs)) * square(z_of(xs));
                     return std::vector<Value>{real(w), imag(w)};
                   }});
  check_gradients({.ops = {"Angle", "ComplexAbs"}, .at = {x, y}, .f = [&](Graph& g, const auto& xs) {
                     return std::vector<Value>{angle(z_of(xs)), g.add("ComplexAbs", {z_of(xs)}, {{"Tout", kFloat64}})};
                   }});
  for (const DType to : {kFloat32, kFloat64}) {
    check_gradients({.ops = {"Cast"},
                     .at = {x},
                     .f = [&](Graph&, const auto& xs) { return std::vector<Value>{square(cast(xs[0], to))}; },
                     .step = 1e-2,
                     .tolerance = 1e-3});
  }
}

}  // namespace
}  // namespace argosy
