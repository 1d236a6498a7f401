#include "argosy/comm/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace argosy {
namespace {

template <typename T>
using Accumulator = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

template <typename A>
A plain(Reduction reduction, A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    using Wide = std::uint64_t;
    switch (reduction) {
      case Reduction::kMin: return std::min(a, b);
      case Reduction::kMax: return std::max(a, b);
      case Reduction::kProd: return static_cast<A>(static_cast<Wide>(a) * static_cast<Wide>(b));
      default: return static_cast<A>(static_cast<Wide>(a) + static_cast<Wide>(b));
    }
  } else {
    switch (reduction) {
      case Reduction::kMin: return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
      case Reduction::kMax: return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
      case Reduction::kProd: return a * b;
      default: return a + b;
    }
  }
}

// As the contract says it: the left half is the largest power of two below n.
template <typename A>
A tree(Reduction reduction, const A* values, int n) {
  if (n == 1) return values[0];
  int left = 1;
  while (left * 2 < n) left *= 2;
  return plain(reduction, tree(reduction, values, left), tree(reduction, values + left, n - left));
}

template <typename T>
void check(Reduction reduction, CombineOrder order, int inputs, std::size_t n, std::mt19937& random) {
  std::vector<std::vector<T>> arrays(static_cast<std::size_t>(inputs), std::vector<T>(n));
  for (auto& array : arrays) {
    for (T& v : array) {
      if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(random());
      } else {
        v = static_cast<T>(std::ldexp(static_cast<double>(random()) / 4e9 - 0.5, static_cast<int>(random() % 30) - 15));
        if (random() % 50 == 0) v = static_cast<T>(std::numeric_limits<float>::infinity());
        if (random() % 50 == 0) v = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  const std::size_t begin = n / 7, end = n - n / 9;
  std::vector<T> expected = arrays[0];
  for (std::size_t i = begin; i < end; ++i) {
    using A = Accumulator<T>;
    std::vector<A> values;
    for (const auto& array : arrays) values.push_back(static_cast<A>(array[i]));
    A acc = values[0];
    if (order == CombineOrder::kTree) {
      acc = tree(reduction, values.data(), inputs);
    } else {
      for (int k = 1; k < inputs; ++k) acc = plain(reduction, acc, values[static_cast<std::size_t>(k)]);
    }
    if (reduction == Reduction::kMean) {
      if constexpr (std::is_integral_v<A>) {
        acc = std::is_signed_v<A> ? static_cast<A>(static_cast<std::int64_t>(acc) / inputs)
                                  : static_cast<A>(static_cast<std::uint64_t>(acc) / static_cast<unsigned>(inputs));
      } else {
        acc /= static_cast<A>(inputs);
      }
    }
    expected[i] = static_cast<T>(acc);
  }
  std::vector<T> apart = arrays[0];
  std::vector<const std::byte*> in;
  for (const auto& array : arrays) in.push_back(reinterpret_cast<const std::byte*>(array.data()));
  // In place in the first input, and into an array of its own.
  std::byte* out[] = {reinterpret_cast<std::byte*>(arrays[0].data()), reinterpret_cast<std::byte*>(apart.data())};
  const CombineFn fn = find_combine(dtype_of<T>(), reduction, order).value();
  fn({in.data(), out, inputs, 2, static_cast<double>(inputs)}, begin, end);
  for (std::size_t i = 0; i < n; ++i) {
    bool same = std::memcmp(&arrays[0][i], &expected[i], sizeof(T)) == 0;
    if constexpr (!std::is_integral_v<T>)
      same = same || (std::isnan(float(expected[i])) && std::isnan(float(arrays[0][i])));
    ASSERT_TRUE(same) << dtype_name(dtype_of<T>()) << " " << reduction_name(reduction) << " of " << inputs << " at "
                      << i << " of " << n << ": " << double(arrays[0][i]) << ", not " << double(expected[i]);
    ASSERT_EQ(std::memcmp(&apart[i], &arrays[0][i], sizeof(T)), 0);
  }
}

TEST(Combine, EveryTypeReductionOrderAndLengthLikeThePlainLoop) {
  std::mt19937 random(7);
  for (const auto order : {CombineOrder::kChain, CombineOrder::kTree}) {
    for (const auto reduction :
         {Reduction::kSum, Reduction::kMean, Reduction::kMin, Reduction::kMax, Reduction::kProd}) {
      for (const int inputs : {1, 2, 3, 5, 8}) {
        for (const std::size_t n : {0u, 1u, 17u, 64u, 701u}) {
          check<float>(reduction, order, inputs, n, random);
          check<double>(reduction, order, inputs, n, random);
          check<bfloat16>(reduction, order, inputs, n, random);
          check<float16>(reduction, order, inputs, n, random);
          check<std::int8_t>(reduction, order, inputs, n, random);
          check<std::uint8_t>(reduction, order, inputs, n, random);
          check<std::int16_t>(reduction, order, inputs, n, random);
          check<std::uint16_t>(reduction, order, inputs, n, random);
          check<std::int32_t>(reduction, order, inputs, n, random);
          check<std::uint32_t>(reduction, order, inputs, n, random);
          check<std::int64_t>(reduction, order, inputs, n, random);
          check<std::uint64_t>(reduction, order, inputs, n, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Every float16 there is, and the floats between them: rounding is that of bits16.h.
TEST(Combine, HalfRoundsLikeTheElementType) {
  std::vector<float16> a(65536), b(65536);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = float16::from_bits(static_cast<std::uint16_t>(i));
    b[i] = float16::from_bits(static_cast<std::uint16_t>(i * 31 + 17));
  }
  std::vector<float16> sum(65536);
  const std::byte* in[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(sum.data())};
  find_combine(DType::kFloat16, Reduction::kSum, CombineOrder::kChain).value()({in, out, 2, 1, 1}, 0, a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float16 expected(float(a[i]) + float(b[i]));
    if (std::isnan(float(expected))) {
      ASSERT_TRUE(std::isnan(float(sum[i])));
    } else {
      ASSERT_EQ(sum[i].bits, expected.bits) << float(a[i]) << " + " << float(b[i]);
    }
  }
}

TEST(Combine, WhatDoesNotCombineIsNamed) {
  EXPECT_EQ(find_combine(DType::kString, Reduction::kSum, CombineOrder::kChain).status().code(), Code::kUnimplemented);
  EXPECT_EQ(find_combine(DType::kBool, Reduction::kSum, CombineOrder::kChain).status().id(), "ARG-DTYPE-001");
  EXPECT_EQ(component_of(DType::kComplex64, Reduction::kMean).per_element, 2u);
  EXPECT_EQ(component_of(DType::kComplex64, Reduction::kMax).dtype, DType::kComplex64);
}

}  // namespace
}  // namespace argosy
