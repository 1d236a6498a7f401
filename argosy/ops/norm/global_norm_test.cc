// Batch normalisation by statistics that are given. TensorFlow 2 runs these ops in graphs of version 8 alone; its
// values below are from such a graph.
#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

constexpr const char* kGone = "it left the op behind with GraphDef version 9";
const Tensor kX = Tensor::of<float>({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
const Tensor kMean = Tensor::vector<float>({1, 2}), kVariance = Tensor::vector<float>({1, 4});
const Tensor kBeta = Tensor::vector<float>({.5f, .25f}), kGamma = Tensor::vector<float>({2, 3});

AttrMap attrs(bool scaled) { return {{"variance_epsilon", AttrValue(0.01f)}, {"scale_after_normalization", scaled}}; }

TEST(GlobalNorm, Values) {
  for (const bool scaled : {true, false}) {
    check({.op = "BatchNormWithGlobalNormalization",
           .inputs = {kX, kMean, kVariance, kBeta, kGamma},
           .attrs = attrs(scaled),
           .expect = {scaled ? Tensor::of<float>({1, 2, 2, 2}, {-1.4900743f, -1.2481285f, 2.4900742f, 1.7481285f,
                                                                6.470223f, 4.7443857f, 10.450372f, 7.7406425f})
                             : Tensor::of<float>({1, 2, 2, 2}, {-0.49503714f, -0.24937618f, 1.4950371f, 0.7493762f,
                                                                3.4851115f, 1.7481285f, 5.475186f, 2.746881f})},
           .unlike_tensorflow = kGone});
  }
}

TEST(GlobalNorm, Gradients) {
  for (const bool scaled : {true, false}) {
    check({.op = "BatchNormWithGlobalNormalization",
           .inputs = {random_tensor(DType::kFloat32, {2, 3, 2, 3}), random_tensor(DType::kFloat32, {3}, 2),
                      random_tensor(DType::kFloat32, {3}, 3, 0.5, 2), random_tensor(DType::kFloat32, {3}, 4),
                      random_tensor(DType::kFloat32, {3}, 5)},
           .attrs = attrs(scaled),
           .unlike_tensorflow = kGone});
  }
  Tensor flow = kX.clone();
  for (float& v : flow.values<float>()) v *= 0.1f;
  check(
      {.op = "BatchNormWithGlobalNormalizationGrad",
       .inputs = {kX, kMean, kVariance, kGamma, flow},
       .attrs = attrs(true),
       .expect = {Tensor::of<float>({1, 2, 2, 2}, {0, 0.14981286f, 0.39801487f, 0.44943857f, 0.79602975f, 0.74906427f,
                                                   1.1940446f, 1.0486899f}),
                  Tensor::vector<float>({-2.3880892f, -2.3970056f}), Tensor::vector<float>({-4.334815f, -0.97135508f}),
                  Tensor::vector<float>({1.2f, 1.6f}), Tensor::vector<float>({4.3781633f, 2.596756f})},
       .unlike_tensorflow = kGone});
}

TEST(GlobalNorm, WrongShapes) {
  const auto refuses = [](std::vector<Tensor> x) {
    check({.op = "BatchNormWithGlobalNormalization",
           .inputs = std::move(x),
           .attrs = attrs(true),
           .error = Code::kInvalidArgument,
           .unlike_tensorflow = kGone});
  };
  const Tensor one = Tensor::vector<float>({1});
  refuses({kMean, kMean, kVariance, kBeta, kGamma});
  refuses({kX, one, kVariance, kBeta, kGamma});
  refuses({kX, kMean, kVariance, kBeta, one});
}

}  // namespace
}  // namespace argosy
