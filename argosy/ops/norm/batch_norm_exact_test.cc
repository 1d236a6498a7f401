// Batch normalisation's statistics lost digits where the first row of a block lay far from the mean: with a first row
// at 30, the variance was off by 2.5e-4.
#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/run_on_gpu.h"

namespace argosy {
namespace {

struct Errors {
  double mean = 0, variance = 0;  // of the mean beside a standard deviation, of the variance beside itself
};

Errors errors_of(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  const std::int64_t channels = x.shape().back(), rows = x.elements() / channels;
  Errors worst;
  for (std::int64_t ch = 0; ch < channels; ++ch) {
    long double sum = 0, squares = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += x.data<float>()[r * channels + ch];
    const long double center = sum / rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      const long double away = x.data<float>()[r * channels + ch] - center;
      squares += away * away;
    }
    const auto exact = static_cast<double>(squares / (rows - 1));
    const double off = std::abs(mean.data<float>()[ch] - static_cast<double>(center)) / std::sqrt(exact);
    // A mean far from zero has no more digits than a float.
    const double digits = 0x1p-24 * std::abs(static_cast<double>(center)) / std::sqrt(exact);
    worst.mean = std::max(worst.mean, off - digits);
    worst.variance = std::max(worst.variance, std::abs(variance.data<float>()[ch] - exact) / exact);
  }
  return worst;
}

// Rows of a standard deviation near 1, some of them `far` away.
Tensor rows_of(std::int64_t rows, std::int64_t channels, float far, std::initializer_list<std::int64_t> which,
               float offset) {
  Tensor x = random_tensor(DType::kFloat32, {rows, 1, 1, channels}, 5, -1.7, 1.7);
  for (float& v : x.values<float>()) v += offset;
  for (const std::int64_t r : which) {
    for (std::int64_t ch = 0; ch < channels; ++ch) x.data<float>()[r * channels + ch] += far;
  }
  return x;
}

class BatchNormExact : public testing::Test {
 protected:
  void look_at(const Tensor& x, const std::string& what) {
    const std::int64_t channels = x.shape().back();
    const Tensor vector = random_tensor(DType::kFloat32, {channels}, 3), none = Tensor::zeros(DType::kFloat32, {0});
    const OpDef& op = *builtin_ops().find("FusedBatchNormV3");
    const std::vector<Tensor> inputs = {x, vector, vector, none, none};
    const auto here = evaluate_op(op, {}, inputs);
    ASSERT_TRUE(here.ok()) << here.status().to_string();
    judge(x, *here, what + " on the CPU", worst_);
    const auto there = run_on_gpu(op, {}, inputs);
    if (!there) return;
    ASSERT_TRUE(there->ok()) << there->status().to_string();
    judge(x, **there, what + " on a GPU", worst_there_);
  }

  static void judge(const Tensor& x, const std::vector<Tensor>& outputs, const std::string& what, Errors& worst) {
    const Errors errors = errors_of(x, outputs[1], outputs[2]);
    EXPECT_LT(errors.variance, 2e-6) << what;
    EXPECT_LT(errors.mean, 2e-6) << what;
    worst.mean = std::max(worst.mean, errors.mean);
    worst.variance = std::max(worst.variance, errors.variance);
  }

  void TearDown() override {
    std::printf("worst on the CPU: mean %.1e, variance %.1e; on a GPU: mean %.1e, variance %.1e\n", worst_.mean,
                worst_.variance, worst_there_.mean, worst_there_.variance);
  }

  Errors worst_, worst_there_;
};

constexpr std::int64_t kRows[] = {2, 9, 64, 65, 500, 5000}, kChannels[] = {1, 5, 8, 72};

TEST_F(BatchNormExact, OneRowFarAway) {
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t channels : kChannels) {
      for (const float far : {3.f, 10.f, 30.f, 100.f, 1000.f}) {
        for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
          look_at(rows_of(rows, channels, far, {row}, 0), str_cat("row ", row, " of ", rows, " at ", far));
        }
      }
    }
  }
}

TEST_F(BatchNormExact, AllRowsFarAway) {
  for (const std::int64_t rows : kRows) {
    for (const float offset : {10.f, 100.f, 1000.f}) {
      look_at(rows_of(rows, 8, 0, {}, offset), str_cat(rows, " rows at ", offset));
      look_at(rows_of(rows, 8, -offset, {0, rows - 1}, offset), str_cat(rows, " rows at ", offset, " but two"));
    }
  }
}

// Long enough that blocks are merged; the far rows are the first ones of blocks.
TEST_F(BatchNormExact, FirstRowsOfBlocksFarAway) {
  constexpr std::int64_t kMany = 1 << 15;
  for (const float far : {3.f, 30.f, 1000.f}) {
    Tensor x = rows_of(kMany, 16, 0, {}, 0);
    for (std::int64_t r = 0; r < kMany; r += kMany / 32) {
      for (std::int64_t ch = 0; ch < 16; ++ch) x.data<float>()[r * 16 + ch] += far;
    }
    look_at(x, str_cat("first rows of blocks at ", far));
  }
}

TEST(BatchNormNumbers, AnInfiniteRowIsNoVarianceOfZero) {
  for (const float number : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Tensor vector = Tensor::of<float>({8}, {1, 1, 1, 1, 1, 1, 1, 1}), none = Tensor::zeros(DType::kFloat32, {0});
    for (const std::int64_t row : {0, 40, 99}) {
      Tensor x = rows_of(100, 8, 0, {}, 0);
      x.data<float>()[row * 8] = number;
      const auto y = evaluate_op(*builtin_ops().find("FusedBatchNormV3"), {}, {x, vector, vector, none, none});
      ASSERT_TRUE(y.ok()) << y.status().to_string();
      EXPECT_TRUE(std::isnan((*y)[2].data<float>()[0])) << number << " in row " << row;
      EXPECT_FALSE(std::isnan((*y)[2].data<float>()[1])) << number << " in row " << row;
    }
  }
}

}  // namespace
}  // namespace argosy
