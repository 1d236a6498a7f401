#include "argosy/ops/matmul/tile_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/matmul/float_tiles.h"

namespace argosy {
namespace {

std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  std::vector<float> n(static_cast<std::size_t>(count));
  for (float& x : n) x = normal(bits);
  return n;
}

class TileGemmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_float_tiles()) GTEST_SKIP() << "this machine has no tiles (AMX)";
  }
  void TearDown() override { set_thread_budget(1); }

  static bool multiply(const TileGemm& g, const float* a, const float* b, float* c, int threads = 1) {
    set_thread_budget(threads);
    std::vector<float> scratch(tile_gemm_scratch_bytes(g, threads) / sizeof(float) + 16);
    const auto at = reinterpret_cast<std::uintptr_t>(scratch.data());
    return tile_gemm(g, a, b, c, reinterpret_cast<void*>((at + 63) / 64 * 64));
  }
};

// Sums of k products of numbers of size 1: float32's own rounding, one after the other, has several times this.
TEST_F(TileGemmTest, AsExactAsFloat32) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes s : {Sizes{1, 1, 1},
                        {16, 16, 32},
                        {17, 33, 31},
                        {32, 32, 128},
                        {33, 70, 400},
                        {50, 700, 65},
                        {100, 31, 900},
                        {129, 600, 384}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(testing::Message() << s.m << "x" << s.k << "x" << s.n << (transpose_a ? " T" : " N")
                                        << (transpose_b ? "T" : "N"));
        const auto a = numbers(s.m * s.k, 1), b = numbers(s.k * s.n, 2);
        std::vector<float> c(static_cast<std::size_t>(s.m * s.n), -1);
        ASSERT_TRUE(multiply({transpose_a, transpose_b, s.m, s.n, s.k}, a.data(), b.data(), c.data(), 2));
        double worst = 0;
        for (std::int64_t i = 0; i < s.m; ++i) {
          for (std::int64_t j = 0; j < s.n; ++j) {
            double sum = 0, size = 0;
            for (std::int64_t p = 0; p < s.k; ++p) {
              const double product = static_cast<double>(a[transpose_a ? p * s.m + i : i * s.k + p]) *
                                     b[transpose_b ? j * s.k + p : p * s.n + j];
              sum += product;
              size += std::abs(product);
            }
            worst = std::max(worst, std::abs(c[i * s.n + j] - sum) / size);
          }
        }
        EXPECT_LT(worst, 2.5e-7);  // two roundings' worth
      }
    }
  }
}

TEST_F(TileGemmTest, IntegersAndOneAreExact) {
  const std::int64_t n = 64;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  std::mt19937 bits(3);
  for (auto* const v : {&a, &b}) {
    for (float& x : *v) x = static_cast<float>(static_cast<int>(bits() % 801) - 400);
  }
  ASSERT_TRUE(multiply({false, false, n, n, n}, a.data(), b.data(), c.data()));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t p = 0; p < n; ++p) {
        sum += static_cast<std::int64_t>(a[i * n + p]) * static_cast<std::int64_t>(b[p * n + j]);
      }
      ASSERT_EQ(c[i * n + j], static_cast<float>(sum));
    }
  }
  std::vector<float> one(n * n), same(n * n);
  for (std::int64_t i = 0; i < n; ++i) one[i * n + i] = 1;
  const auto any = numbers(n * n, 4);
  ASSERT_TRUE(multiply({false, false, n, n, n}, any.data(), one.data(), same.data()));
  EXPECT_EQ(same, any);
  ASSERT_TRUE(multiply({true, false, n, n, n}, one.data(), any.data(), same.data()));
  EXPECT_EQ(same, any);
}

TEST_F(TileGemmTest, ARowsBitsDependOnNothingElse) {
  const std::int64_t m = 150, n = 640, k = 500;
  const auto a = numbers(m * k, 1), b = numbers(k * n, 2);
  std::vector<float> whole(m * n), part(m * n), threads(m * n);
  ASSERT_TRUE(multiply({false, false, m, n, k}, a.data(), b.data(), whole.data()));
  ASSERT_TRUE(multiply({false, false, m, n, k}, a.data(), b.data(), threads.data(), 3));
  EXPECT_EQ(whole, threads);
  for (std::int64_t begin = 0; begin < m; begin += 37) {
    const std::int64_t rows = std::min<std::int64_t>(37, m - begin);
    ASSERT_TRUE(multiply({false, false, rows, n, k}, a.data() + begin * k, b.data(), part.data() + begin * n));
  }
  EXPECT_EQ(whole, part);
}

TEST_F(TileGemmTest, SaysWhenAResultIsNotFinite) {
  const std::int64_t n = 40;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {infinity, -infinity, std::nanf(""), std::numeric_limits<float>::max()}) {
    for (const std::int64_t at : {std::int64_t{0}, n * n - 1}) {
      auto a = numbers(n * n, 1);
      const std::vector<float> b(n * n, 2);
      std::vector<float> c(n * n);
      EXPECT_TRUE(multiply({false, false, n, n, n}, a.data(), b.data(), c.data()));
      a[at] = odd;
      EXPECT_FALSE(multiply({false, false, n, n, n}, a.data(), b.data(), c.data())) << odd;
    }
  }
}

}  // namespace
}  // namespace argosy
