// Images at given points. Numbers are those of TensorFlow 1.15's tf.contrib.resampler.
#include <gtest/gtest.h>

#include <limits>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ramp() {
  std::vector<float> v;
  for (int i = 0; i < 24; ++i) v.push_back(static_cast<float>(i));
  return Tensor::vector(v).reshaped({1, 3, 4, 2});
}
const float kNan = std::numeric_limits<float>::quiet_NaN();
// Between pixels, on the last one, half outside, and beyond.
const std::vector<float> kPoints = {0, 0, 1.5f, 0.25f, 3, 2, -0.5f, 1, 3.5f, 2.5f, -1, 0, 4, 0, 0, -0.75f, kNan, 0};

TEST(Resampler, PointsBetweenPixels) {
  const Tensor warp = Tensor::vector(kPoints).reshaped({1, 9, 2});
  check(
      {.op = "Resampler",
       .inputs = {ramp(), warp},
       .expect = {Tensor::of<float>({1, 9, 2}, {0, 1, 5, 6, 22, 23, 4, 4.5f, 5.5f, 5.75f, 0, 0, 0, 0, 0, 0.25f, 0, 0})},
       .check_gradient = false});
  check({.op = "Resampler",
         .inputs = {ramp(), Tensor::of<float>({1, 2}, {0.5f, 0.5f})},
         .expect = {Tensor::of<float>({1, 2}, {5, 6})},
         .check_gradient = false});
  check({.op = "Resampler",
         .inputs = {Tensor::zeros(DType::kFloat32, {0, 3, 4, 2}), Tensor::zeros(DType::kFloat32, {0, 5, 2})},
         .expect = {Tensor::zeros(DType::kFloat32, {0, 5, 2})}});
}

TEST(Resampler, Gradients) {
  // Away from pixels, where slopes change.
  check({.op = "Resampler",
         .inputs = {random_tensor(DType::kFloat32, {2, 3, 4, 2}),
                    Tensor::of<float>({2, 2, 2}, {0.3f, 1.2f, 2.6f, 0.4f, -0.4f, 1.7f, 3.3f, 2.2f})}});
  const Tensor warp = Tensor::vector(std::vector<float>(kPoints.begin(), kPoints.begin() + 16)).reshaped({1, 8, 2});
  std::vector<float> ones(16, 1.0f);
  check({.op = "ResamplerGrad",
         .inputs = {ramp(), warp, Tensor::vector(ones).reshaped({1, 8, 2})},
         .expect = {Tensor::of<float>({1, 3, 4, 2}, {1.25f, 1.25f, 0.375f, 0.375f, 0.375f, 0.375f, 0,     0,
                                                     0.5f,  0.5f,  0.125f, 0.125f, 0.125f, 0.125f, 0,     0,
                                                     0,     0,     0,      0,      0,      0,      1.25f, 1.25f}),
                    Tensor::of<float>({1, 8, 2}, {4, 16, 4, 16, -45, -45, 17, 8, -22.5f, -22.5f, 0, 0, 0, 0, 1, 1})}});
}

TEST(Resampler, Refusals) {
  const auto refuses = [](const Tensor& data, const Tensor& warp, Code code) {
    check({.op = "Resampler", .inputs = {data, warp}, .error = code});
  };
  refuses(ramp(), Tensor::vector<float>({0, 0}), Code::kInvalidArgument);
  refuses(ramp(), Tensor::of<float>({1, 1, 3}, {0, 0, 0}), Code::kUnimplemented);
  refuses(ramp(), Tensor::zeros(DType::kFloat32, {2, 1, 2}), Code::kInvalidArgument);
  check({.op = "ResamplerGrad",
         .inputs = {ramp(), Tensor::zeros(DType::kFloat32, {1, 4, 2}), Tensor::zeros(DType::kFloat32, {1, 3, 2})},
         .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
