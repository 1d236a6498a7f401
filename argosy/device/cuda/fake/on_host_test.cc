#include "argosy/device/cuda/fake/on_host_run.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <utility>

#include "argosy/tensor/bits16.h"

namespace argosy::on_host {

namespace {

const Kernel& find(const std::string& name) {
  static void* const library = dlopen(ARGOSY_TEST_KERNELS, RTLD_NOW);
  ARGOSY_CHECK(library != nullptr);
  const void* const symbol = dlsym(library, (name + "_on_host").c_str());
  ARGOSY_CHECK(symbol != nullptr);
  return *static_cast<const Kernel*>(symbol);
}

template <typename... A>
Status launch(const std::string& name, Dim3 grid, Dim3 block, A... arguments) {
  void* pointers[] = {&arguments...};
  const Kernel& kernel = find(name);
  EXPECT_EQ(kernel.parameters, static_cast<int>(sizeof...(A)));
  return run(kernel, grid, block, pointers);
}

TEST(OnHost, EveryElementIsVisitedOnce) {
  std::vector<float> x(1000), y(1000), z(1000, -1);
  std::iota(x.begin(), x.end(), 0.f);
  std::iota(y.begin(), y.end(), 1.f);
  ASSERT_TRUE(launch("test_add", {3}, {64}, 1000LL, x.data(), y.data(), z.data()).ok());
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], 2 * static_cast<float>(i) + 1);
}

TEST(OnHost, BarriersKeepTheThreadsOfABlockTogether) {
  std::vector<int> x(1024), y(1024, -1);
  std::iota(x.begin(), x.end(), 0);
  ASSERT_TRUE(launch("test_reverse", {4}, {256}, x.data(), y.data()).ok());
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(y[i], i / 256 * 256 + 255 - i % 256);
}

TEST(OnHost, ShufflesAndAtomicsSumABlock) {
  std::vector<double> x(777), sums(5);
  std::iota(x.begin(), x.end(), 0.0);
  unsigned visits = 0;
  ASSERT_TRUE(launch("test_sum", {5}, {96}, 777LL, x.data(), sums.data(), &visits).ok());
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0), 776.0 * 777 / 2);
  EXPECT_EQ(visits, 5u);
}

TEST(OnHost, ABlockThatWaitsForEverIsAnError) {
  std::vector<int> y(64);
  const Status status = launch("test_divergence", {1}, {64}, y.data());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.to_string();
}

TEST(OnHost, LaunchesBeyondTheLimitsAreRefused) {
  std::vector<int> y(4096);
  EXPECT_EQ(launch("test_divergence", {1}, {2048}, y.data()).code(), Code::kInvalidArgument);
  EXPECT_EQ(launch("test_divergence", {0}, {32}, y.data()).code(), Code::kInvalidArgument);
}

// Vecs where all lies at multiples of 16 bytes, element by element where one does not, and what is left over either
// way.
TEST(OnHost, VecsAreUsedWhereMemoryIsAligned) {
  for (const int shift_x : {0, 1}) {
    for (const int shift_z : {0, 3}) {
      for (const long long n : {5LL, 64LL, 203LL}) {
        for (const auto& [period, run] : {std::pair(8LL, 8LL), {16LL, 3LL}, {3LL, 1LL}, {1LL, 50LL}}) {
          alignas(16) std::array<std::int16_t, 256> x{}, z{};
          std::vector<std::int16_t> repeated(256);
          std::iota(x.begin(), x.end(), std::int16_t{0});
          std::iota(repeated.begin(), repeated.end(), std::int16_t{100});
          int vecs = 0;
          ASSERT_TRUE(launch("test_vecs", {2}, {32}, n, x.data() + shift_x, repeated.data(), period, repeated.data(),
                             run, z.data() + shift_z, &vecs)
                          .ok());
          for (long long i = 0; i < n; ++i) {
            const long long expected = x[i + shift_x] + repeated[i % period] + repeated[i / run];
            ASSERT_EQ(z[i + shift_z], expected) << i << " of " << n;
          }
          EXPECT_EQ(z[n + shift_z], 0);
          EXPECT_EQ(vecs, shift_x + shift_z == 0 ? n / 8 : 0);
        }
      }
    }
  }
}

// Every value of both 16-bit types goes through float32 and back as the library's own types do.
TEST(OnHost, SixteenBitNumbersAreTheLibrarys) {
  std::vector<std::uint16_t> bits(65536), x(65536), y(65536);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  std::vector<float> sum(65536);
  ASSERT_TRUE(
      launch("test_16_bits", {16}, {256}, 65536LL, bits.data(), bits.data(), x.data(), y.data(), sum.data()).ok());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const auto a = float16::from_bits(bits[i]);
    const auto b = bfloat16::from_bits(bits[i]);
    EXPECT_EQ(x[i], float16(float(a)).bits);
    EXPECT_EQ(y[i], bfloat16(float(b)).bits);
    const float expected = float(a) + float(b);
    EXPECT_TRUE(sum[i] == expected || (std::isnan(sum[i]) && std::isnan(expected))) << i;
  }
}

}  // namespace

}  // namespace argosy::on_host
