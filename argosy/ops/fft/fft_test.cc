#include "argosy/ops/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using C2 = std::complex<double>;

template <typename T>
Tensor complex_numbers(const Shape& shape, std::uint64_t seed) {
  const Tensor parts = random_tensor(dtype_of<T>(), {2, shape.elements()}, seed);
  Tensor x = Tensor::zeros(dtype_of<std::complex<T>>(), shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    x.data<std::complex<T>>()[i] = {parts.data<T>()[i], parts.data<T>()[shape.elements() + i]};
  }
  return x;
}

// Written out: the sum of x[j] exp(-2 π i j k / n).
Tensor plain_transform(const Tensor& x) {
  const std::int64_t n = x.elements();
  Tensor y = Tensor::zeros(DType::kComplex128, x.shape());
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      y.data<C2>()[k] += x.data<C2>()[j] * std::polar(1.0, angle);
    }
  }
  return y;
}

TEST(FftOps, Definition) {
  // Powers of two, products of small primes, primes, and primes too large for them.
  for (const std::int64_t n : {1, 2, 3, 4, 8, 12, 30, 31, 37, 74, 128, 211, 1009}) {
    SCOPED_TRACE(n);
    const Tensor x = complex_numbers<double>({n}, static_cast<std::uint64_t>(n));
    const Tensor y = plain_transform(x);
    const auto is = [](const char* op, const Tensor& from, const Tensor& to) {
      const auto found = evaluate_op(*builtin_ops().find(op), {}, {from});
      ASSERT_TRUE(found.ok()) << found.status().to_string();
      for (std::int64_t i = 0; i < to.elements(); ++i) {
        EXPECT_LT(std::abs((*found)[0].data<C2>()[i] - to.data<C2>()[i]), 1e-9);
      }
      check({.op = op, .inputs = {from}});
    };
    is("FFT", x, y);
    is("IFFT", y, x);
  }
}

TEST(FftOps, ComplexOfEveryRank) {
  const char* const kOps[3][2] = {{"FFT", "IFFT"}, {"FFT2D", "IFFT2D"}, {"FFT3D", "IFFT3D"}};
  for (int axes = 1; axes <= 3; ++axes) {
    for (const char* op : kOps[axes - 1]) {
      check({.op = op, .inputs = {complex_numbers<float>({2, 4, 3, 8}, 1)}});
      check({.op = op, .inputs = {complex_numbers<double>({3, 5, 4}, 2)}});
      check({.op = op, .inputs = {complex_numbers<float>({2, 1, 37}, 3)}});
      check({.op = op, .inputs = {Tensor::zeros(DType::kComplex64, {2, 3, 0})}});
      check({.op = op,
             .inputs = {Tensor::zeros(DType::kComplex64, Shape(std::vector<std::int64_t>(axes - 1, 2)))},
             .error = Code::kInvalidArgument});
    }
  }
}

Tensor length(const std::vector<std::int32_t>& n) { return Tensor::vector(n); }

TEST(FftOps, RealOfEveryRank) {
  const char* const kOps[3][2] = {{"RFFT", "IRFFT"}, {"RFFT2D", "IRFFT2D"}, {"RFFT3D", "IRFFT3D"}};
  for (int axes = 1; axes <= 3; ++axes) {
    for (const auto& sizes : {std::vector<std::int32_t>{4, 3, 8}, {4, 2, 7}, {2, 3, 1}, {3, 2, 6}, {1, 1, 37}}) {
      const std::vector<std::int32_t> n(sizes.end() - axes, sizes.end());
      check({.op = kOps[axes - 1][0], .inputs = {random_tensor(DType::kFloat32, {2, 4, 3, 40}, 1), length(n)}});
      check({.op = kOps[axes - 1][1], .inputs = {complex_numbers<float>({2, 4, 3, 20}, 1), length(n)}});
      check({.op = kOps[axes - 1][0],
             .inputs = {random_tensor(DType::kFloat64, {4, 3, 40}, 1), length(n)},
             .attrs = {{"Tcomplex", DType::kComplex128}}});
      check({.op = kOps[axes - 1][1],
             .inputs = {complex_numbers<double>({4, 3, 20}, 1), length(n)},
             .attrs = {{"Treal", DType::kFloat64}}});
    }
    const std::vector<std::int32_t> n(static_cast<std::size_t>(axes), 4);
    check({.op = kOps[axes - 1][0], .inputs = {Tensor::zeros(DType::kFloat32, {0, 4, 4, 4}), length(n)}});
    const auto refuses = [&](const Tensor& x, const Tensor& l) {
      check({.op = kOps[axes - 1][0], .inputs = {x, l}, .error = Code::kInvalidArgument});
    };
    const Tensor x = random_tensor(DType::kFloat32, {3, 3, 3}, 1);
    refuses(x, length(n));
    refuses(x, length(std::vector<std::int32_t>(static_cast<std::size_t>(axes + 1), 2)));
    refuses(x, length(std::vector<std::int32_t>(static_cast<std::size_t>(axes), -1)));
  }
}

TEST(FftOps, Gradients) {
  const Tensor a = random_tensor(DType::kFloat64, {2, 3, 4, 5}, 1), b = random_tensor(DType::kFloat64, {2, 3, 4, 5}, 2);
  for (int axes = 1; axes <= 3; ++axes) {
    const std::string suffix = axes == 1 ? "" : str_cat(axes, "D");
    for (const bool inverse : {false, true}) {
      check_gradients({.ops = {str_cat(inverse ? "IFFT" : "FFT", suffix)},
                       .at = {a, b},
                       .f = [&](Graph&, const std::vector<Value>& x) -> std::vector<Value> {
                         const Value y = inverse ? ifft(complex(x[0], x[1]), axes) : fft(complex(x[0], x[1]), axes);
                         return {real(y), imag(y)};
                       }});
    }
    for (const std::int32_t n : {4, 5}) {
      std::vector<std::int32_t> sizes = {3, 3, n};
      sizes.erase(sizes.begin(), sizes.end() - axes);
      check_gradients(
          {.ops = {"RFFT" + suffix}, .at = {a}, .f = [&](Graph&, const std::vector<Value>& x) -> std::vector<Value> {
             const Value y = rfft(x[0], sizes);
             return {real(y), imag(y)};
           }});
      check_gradients({.ops = {"IRFFT" + suffix},
                       .at = {a, b},
                       .f = [&](Graph&, const std::vector<Value>& x) -> std::vector<Value> {
                         return {irfft(complex(x[0], x[1]), sizes)};
                       }});
    }
  }
}

}  // namespace
}  // namespace argosy
