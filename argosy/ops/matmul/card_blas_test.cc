// cuBLASLt's calls answered by plain loops over column-major matrices: is the right product asked for?
#include "argosy/ops/matmul/card_blas.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "argosy/tensor/tensor.h"

namespace argosy::cuda {

struct BlasDescObject {
  int transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = 1;
  const float* bias = nullptr;
};
struct BlasLayoutObject {
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, offset = 0;
  std::int32_t batches = 1;
};
struct BlasPreferenceObject {
  std::uint32_t alignment = 256;
};

namespace {

BlasCalls loops() {
  BlasCalls c;
  c.version = [] { return std::size_t{130000}; };
  c.create = [](BlasHandle*) { return 0; };
  c.destroy = [](BlasHandle) { return 0; };
  c.desc_create = [](BlasDesc* d, int, int) { return *d = new BlasDescObject, 0; };
  c.desc_destroy = [](BlasDesc d) { return delete d, 0; };
  c.desc_set = [](BlasDesc d, int attribute, const void* value, std::size_t bytes) {
    void* const to = attribute == kBlasDescTransA     ? static_cast<void*>(&d->transpose_a)
                     : attribute == kBlasDescTransB   ? static_cast<void*>(&d->transpose_b)
                     : attribute == kBlasDescEpilogue ? static_cast<void*>(&d->epilogue)
                                                      : static_cast<void*>(&d->bias);
    std::memcpy(to, value, bytes);
    return 0;
  };
  c.layout_create = [](BlasLayout* l, int, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    return *l = new BlasLayoutObject{.rows = rows, .columns = columns, .leading = leading}, 0;
  };
  c.layout_destroy = [](BlasLayout l) { return delete l, 0; };
  c.layout_set = [](BlasLayout l, int attribute, const void* value, std::size_t bytes) {
    std::memcpy(attribute == kBlasLayoutBatchCount ? static_cast<void*>(&l->batches) : &l->offset, value, bytes);
    return 0;
  };
  c.preference_create = [](BlasPreference* p) { return *p = new BlasPreferenceObject, 0; };
  c.preference_destroy = [](BlasPreference p) { return delete p, 0; };
  c.preference_set = [](BlasPreference, int, const void*, std::size_t) { return 0; };
  c.choose = [](BlasHandle, BlasDesc, BlasLayout, BlasLayout, BlasLayout, BlasLayout d, BlasPreference, int,
                BlasChoice* found, int* count) {
    *found = {};
    found->workspace_bytes = 64;
    *count = d->rows == 13 ? 0 : 1;  // one size it cannot do
    return 0;
  };
  c.multiply = [](BlasHandle, BlasDesc desc, const void*, const void* a, BlasLayout la, const void* b, BlasLayout lb,
                  const void*, const void*, BlasLayout, void* d, BlasLayout ld, const BlasAlgorithm*, void* workspace,
                  std::size_t bytes, void*) {
    if (workspace == nullptr || bytes != 64) return 1;
    const auto at = [](const void* m, BlasLayout l, int batch, std::uint64_t r, std::uint64_t c, bool transposed) {
      if (transposed) std::swap(r, c);
      EXPECT_LT(r, l->rows);
      EXPECT_LT(c, l->columns);
      return static_cast<const float*>(
          m)[batch * l->offset + static_cast<std::int64_t>(c) * l->leading + static_cast<std::int64_t>(r)];
    };
    const std::uint64_t depth = desc->transpose_a != 0 ? la->rows : la->columns;
    for (int batch = 0; batch < ld->batches; ++batch) {
      for (std::uint64_t c = 0; c < ld->columns; ++c) {
        for (std::uint64_t r = 0; r < ld->rows; ++r) {
          float sum = (desc->epilogue & kBlasEpilogueBias) != 0 ? desc->bias[r] : 0;
          for (std::uint64_t k = 0; k < depth; ++k) {
            sum += at(a, la, batch, r, k, desc->transpose_a != 0) * at(b, lb, batch, k, c, desc->transpose_b != 0);
          }
          if ((desc->epilogue & kBlasEpilogueRelu) != 0 && sum < 0) sum = 0;
          static_cast<float*>(
              d)[batch * ld->offset + static_cast<std::int64_t>(c) * ld->leading + static_cast<std::int64_t>(r)] = sum;
        }
      }
    }
    return 0;
  };
  return c;
}

TEST(CardBlas, AsksForTheRowMajorProduct) {
  const auto blas = CardBlas::over(loops()).value();
  const std::int64_t m = 3, n = 4, k = 5;
  std::vector<float> a(2 * m * k), b(2 * k * n), bias(n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 1;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const int matrices : {1, 2}) {
        const Batch batch{matrices, m * k, matrices == 2 ? 0 : k * n};  // the second matrix is shared
        const BlasProblem p = blas_problem(DType::kFloat32, {ta, tb, m, n, k}, batch, true, true, false);
        std::vector<float> out(static_cast<std::size_t>(matrices * m * n), -1);
        const Status done = blas->multiply(p, {.a = b.data(), .b = a.data(), .bias = bias.data(), .d = out.data()},
                                           host_allocator(), nullptr);
        ASSERT_TRUE(done.ok()) << done.to_string();
        for (std::int64_t x = 0; x < matrices; ++x) {
          for (std::int64_t r = 0; r < m; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
              float sum = bias[static_cast<std::size_t>(c)];
              for (std::int64_t i = 0; i < k; ++i) {
                sum += a[static_cast<std::size_t>(x * m * k + (ta ? i * m + r : r * k + i))] *
                       b[static_cast<std::size_t>(tb ? c * k + i : i * n + c)];
              }
              EXPECT_EQ(out[static_cast<std::size_t>((x * m + r) * n + c)], std::max(sum, 0.f)) << ta << tb << matrices;
            }
          }
        }
      }
    }
  }
}

TEST(CardBlas, WhatTheLibraryCannotDoIsLeftToOthers) {
  const auto blas = CardBlas::over(loops()).value();
  std::vector<float> values(1000);
  const BlasProblem p = blas_problem(DType::kFloat32, {false, false, 2, 13, 3}, {}, false, false, false);
  EXPECT_EQ(blas->multiply(p, {values.data(), values.data(), nullptr, values.data()}, host_allocator(), nullptr).code(),
            Code::kUnimplemented);
}

TEST(CardBlas, PrecisionFollowsDtypeAndOption) {
  const Gemm g{false, false, 2, 3, 4};
  EXPECT_EQ(blas_problem(DType::kFloat32, g, {}, false, false, false).compute, kBlasCompute32F);
  EXPECT_EQ(blas_problem(DType::kFloat32, g, {}, false, false, true).compute, kBlasCompute32FTf32);
  EXPECT_EQ(blas_problem(DType::kFloat64, g, {}, false, false, true).compute, kBlasCompute64F);
  const BlasProblem half = blas_problem(DType::kBfloat16, g, {}, false, false, true);
  EXPECT_EQ(half.compute, kBlasCompute32F);
  EXPECT_EQ(half.type, kBlasR16BF);
  EXPECT_EQ(half.scale, kBlasR32F);
}

}  // namespace

}  // namespace argosy::cuda
