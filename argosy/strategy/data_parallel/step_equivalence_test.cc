// What counts as rounding and what does not, of made-up steps.
#include "argosy/strategy/data_parallel/step_equivalence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace argosy {
namespace {

using testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;

Tensor many(std::int64_t n, float scale, float off = 0) {
  Tensor t = Tensor::zeros(kF32, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    t.data<float>()[i] = scale * std::sin(static_cast<float>(i + 1)) * (1 + off * (i % 2 == 0 ? 1.0f : -1.0f));
  }
  return t;
}

std::string compared(const Tensor& one, const Tensor& replicated, const Tensor& perturbed = {}, DType in = kF32) {
  StepValue v{.name = "v", .one_device = one, .replicated = replicated};
  add_noise(v, perturbed);
  return other_than_on_one_device(v, in);
}

std::string updated(const Tensor& before, const Tensor& one, const Tensor& replicated) {
  return other_than_on_one_device({.name = "v", .one_device = one, .replicated = replicated, .before = before}, kF32);
}

Tensor plus(const Tensor& a, const Tensor& b, float times = 1) {
  Tensor sum = a.clone();
  for (std::int64_t i = 0; i < sum.elements(); ++i) sum.data<float>()[i] += times * b.data<float>()[i];
  return sum;
}

TEST(SameStep, SumsInAnotherOrderAreTheSame) {
  EXPECT_EQ(compared(many(100, 3), many(100, 3, 2e-5f)), "");
  EXPECT_EQ(compared(Tensor::scalar(0.75), Tensor::scalar(0.75 + 1e-11), {}, DType::kFloat64), "");
  EXPECT_NE(compared(Tensor::scalar(0.75), Tensor::scalar(0.75 + 1e-8), {}, DType::kFloat64), "");
  // In a step that computes in bfloat16 somewhere.
  EXPECT_EQ(compared(many(100, 3), many(100, 3, 1e-2f), {}, DType::kBfloat16), "");
  EXPECT_NE(compared(many(100, 3), many(100, 3, 1e-2f)), "");
  // A small element beside large ones has the error of the large ones.
  EXPECT_EQ(compared(Tensor::vector<float>({1000, 1e-3f}), Tensor::vector<float>({1000, 2e-2f})), "");
}

// Of 1000 examples one is lost, shards of 7 and 6 are weighted alike, a sum is taken for a mean.
TEST(SameStep, WrongReplicationIsSeen) {
  const double mean = 0.6931;
  EXPECT_NE(compared(Tensor::scalar(static_cast<float>(mean)), Tensor::scalar(static_cast<float>(mean * 0.999))), "");
  const double uneven = (7 * 0.5 + 6 * 0.7) / 13, alike = (0.5 + 0.7) / 2;
  EXPECT_THAT(compared(Tensor::scalar(static_cast<float>(uneven)), Tensor::scalar(static_cast<float>(alike))),
              testing::StartsWith("is 0.6, on one device 0.592308; rounding explains"));
  EXPECT_NE(compared(many(8, 1), many(8, 2)), "");
  Tensor shifted = many(8, 1);  // positions counted from each shard's first row
  std::swap(shifted.data<float>()[2], shifted.data<float>()[3]);
  EXPECT_THAT(compared(many(8, 1), shifted), HasSubstr("element 2"));
}

// A step of 1e-3 on weights of 10: a tenth too much of it is 1e-5 of the weights.
TEST(SameStep, OfVariablesTheUpdateIsCompared) {
  const Tensor before = many(50, 10), step = many(50, 1e-3f);
  EXPECT_EQ(updated(before, plus(before, step), plus(before, step)), "");
  EXPECT_THAT(updated(before, plus(before, step), plus(before, step, 1.1f)), HasSubstr("changes by"));
  EXPECT_EQ(compared(plus(before, step), plus(before, step, 1.1f)), "");  // what comparing values would see
  EXPECT_NE(updated(before, before, plus(before, step)), "");             // written by replicas alone
}

// Adam's first step is the sign of a gradient: of one that is nothing but rounding it is either.
TEST(SameStep, WhatRoundingAloneDoesIsAllowedAndTold) {
  const Tensor one = Tensor::vector<float>({0.001f, -0.001f}), flipped = Tensor::vector<float>({0.001f, 0.001f});
  EXPECT_NE(compared(one, flipped), "");
  EXPECT_EQ(compared(one, flipped, flipped), "");
  StepValue v{.name = "v", .one_device = one, .replicated = one};
  add_noise(v, one);
  EXPECT_FALSE(is_noise(v, kF32));
  add_noise(v, flipped);
  EXPECT_TRUE(is_noise(v, kF32));
}

// One run of several in which a ReLU near zero turns.
TEST(SameStep, TheLargestOfSeveralRunsIsWhatRoundingDoes) {
  const Tensor one = Tensor::vector<float>({1, 2}), turned = Tensor::vector<float>({1, 2.01f});
  StepValue v{.name = "v", .one_device = one, .replicated = turned};
  for (int run = 0; run < 2; ++run) add_noise(v, one);
  EXPECT_NE(other_than_on_one_device(v, kF32), "");
  add_noise(v, turned);
  EXPECT_EQ(other_than_on_one_device(v, kF32), "");
}

TEST(SameStep, IntegersAndStringsAreEqualOrNot) {
  const auto ints = [](std::vector<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); };
  EXPECT_EQ(compared(ints({1, 2, 3}), ints({1, 2, 3})), "");
  EXPECT_THAT(compared(ints({1, 2, 3}), ints({1, 2, 0})),
              HasSubstr("element 2 of int32[3] is 0, on one device 3; 1 of 3"));
  EXPECT_EQ(compared(ints({1, 2, 3}), ints({1, 2, 0}), ints({0, 2, 3})), "");  // a class that a tie decides
  EXPECT_NE(compared(ints({1, 2, 3, 4, 5}), ints({0, 0, 0, 0, 0}), ints({0, 2, 3, 4, 5})), "");
  EXPECT_NE(compared(Tensor::scalar("a"), Tensor::scalar("b")), "");
  EXPECT_NE(compared(Tensor::scalar(true), Tensor::scalar(false)), "");
}

TEST(SameStep, ShapesDtypesAndInfinitiesMustAgree) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compared(Tensor::vector<float>({nan, inf}), Tensor::vector<float>({nan, inf})), "");
  EXPECT_NE(compared(Tensor::vector<float>({nan, inf}), Tensor::vector<float>({nan, -inf})), "");
  EXPECT_NE(compared(Tensor::vector<float>({1, 2}), Tensor::vector<float>({1, nan})), "");
  EXPECT_THAT(compared(many(8, 1), many(7, 1)), HasSubstr("is float[7], on one device float[8]"));
  EXPECT_THAT(compared(many(8, 1), Tensor()), HasSubstr("is nothing, on one device float[8]"));
  EXPECT_EQ(compared(Tensor(), Tensor()), "");
}

TEST(SameStep, PerturbedNumbersAreSomeUnitsOff) {
  const Tensor value = many(64, 1);
  const Tensor off = perturbed(value, kF32);
  int changed = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    const float a = value.data<float>()[i], b = off.data<float>()[i];
    changed += a != b;
    EXPECT_LE(std::abs(a - b), 32 * 2.5e-7f * std::abs(a));
  }
  EXPECT_GT(changed, 32);
  const Tensor again = perturbed(value, kF32), other = perturbed(value, kF32, 1);
  int unlike = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(again.data<float>()[i], off.data<float>()[i]);
    unlike += other.data<float>()[i] != off.data<float>()[i];
  }
  EXPECT_GT(unlike, 16);
  EXPECT_EQ(*perturbed(Tensor::scalar(std::int64_t{7}), kF32).data<std::int64_t>(), 7);
  EXPECT_EQ(coarser(kF32, DType::kBfloat16), DType::kBfloat16);
  EXPECT_EQ(coarser(DType::kInt64, kF32), kF32);
  EXPECT_EQ(coarser(kF32, DType::kFloat64), kF32);
}

}  // namespace
}  // namespace argosy
