// Cases of activations (activation.h) and of biases (bias.h), which share this folder. Cases with
// `.other_dtypes = false` have values or tolerances for one dtype alone.
#include "argosy/ops/activation/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

// Away from the kinks, for finite differences; long enough for whole vectors and a rest.
Tensor features() {
  Tensor t = random_tensor(DType::kFloat32, {3, 7}, 1, -9, 9);
  for (float& v : t.values<float>()) v += v < 0 ? -0.05f : 0.05f;
  return t;
}

TEST(Activation, Values) {
  const Tensor x = Tensor::of<float>({5}, {-2, -0.5, 0, 0.5, 7});
  const auto is = [&](const char* op, std::initializer_list<float> y) {
    check({.op = op, .inputs = {x}, .expect = {Tensor::of<float>({5}, y)}, .check_gradient = false});
  };
  is("Relu", {0, 0, 0, 0.5, 7});
  is("Relu6", {0, 0, 0, 0.5, 6});
  is("Elu", {-0.86466472f, -0.39346934f, 0, 0.5, 7});
  is("Selu", {-1.5201665f, -0.69175819f, 0, 0.52535051f, 7.3549071f});
  is("LeakyRelu", {-0.4f, -0.1f, 0, 0.5, 7});
  is("Softplus", {0.12692801f, 0.47407699f, 0.69314718f, 0.97407699f, 7.0009115f});
  check({.op = "Relu",
         .inputs = {Tensor::vector<std::int32_t>({-3, 0, 4})},
         .expect = {Tensor::vector<std::int32_t>({0, 0, 4})}});
}

TEST(Activation, Gradients) {
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus"})
    check({.op = op, .inputs = {features()}});
  const Tensor d = random_tensor(DType::kFloat32, {3, 7}, 2);
  for (const char* op : {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad"}) {
    check({.op = op, .inputs = {d, features()}});
  }
  for (const char* op : {"EluGrad", "SeluGrad"}) check({.op = op, .inputs = {d, features()}});
  check({.op = "LeakyRelu", .inputs = {features()}, .attrs = {{"alpha", 3.0}}});
}

// Large values, for float32 alone: its exp(90) is infinite.
TEST(Activation, FarOut) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({7}, {-inf, -1e4f, -90, 90, 1e4f, inf, nan});
  const auto is = [&](const char* op, std::initializer_list<float> y) {
    check({.op = op,
           .inputs = {x},
           .expect = {Tensor::of<float>({7}, y)},
           .other_dtypes = false,
           .check_gradient = false});
  };
  is("Relu", {0, 0, 0, 90, 1e4f, inf, nan});
  is("Elu", {-1, -1, -1, 90, 1e4f, inf, nan});
  is("Softplus", {0, 0, 0, 90, 1e4f, inf, nan});
  check({.op = "SoftplusGrad",
         .inputs = {Tensor::of<float>({7}, {1, 2, 3, 4, 5, 6, 7}), x},
         .expect = {Tensor::of<float>({7}, {0, 0, 0, 4, 5, 6, nan})},
         .other_dtypes = false,
         .check_gradient = false});
}

TEST(Activation, GradientsDoNotBroadcast) {
  for (const char* op : {"ReluGrad", "LeakyReluGrad", "SoftplusGrad"}) {
    check({.op = op,
           .inputs = {Tensor::zeros(DType::kFloat32, {1}), Tensor::zeros(DType::kFloat32, {3})},
           .error = Code::kInvalidArgument});
  }
}

TEST(Activation, Composed) {
  Graph g;
  const Value x = g.add("Const", {}, {{"value", Tensor::vector<float>({-1, 0, 2})}, {"dtype", DType::kFloat32}});
  const auto out = evaluate(g, {}, {gelu(x).endpoint(), gelu(x, true).endpoint(), swish(x).endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({-0.15865525f, 0, 1.9544997f}), 1e-6), "");
  EXPECT_EQ(difference((*out)[1], Tensor::vector<float>({-0.15880801f, 0, 1.9545977f}), 1e-6), "");
  EXPECT_EQ(difference((*out)[2], Tensor::vector<float>({-0.26894142f, 0, 1.7615942f}), 1e-6), "");
}

TEST(Bias, Add) {
  const auto random = [](Shape s) { return random_tensor(DType::kFloat32, s); };
  for (const Shape& shape : {Shape{2, 3}, Shape{5, 4, 70}, Shape{2, 3, 3, 17}, Shape{0, 3}, Shape{3, 0}, Shape{1, 1}}) {
    SCOPED_TRACE(shape.to_string());
    check({.op = "BiasAdd", .inputs = {random(shape), random({shape.back()})}});
    check({.op = "BiasAddV1", .inputs = {random(shape), random({shape.back()})}});
    check({.op = "BiasAddGrad", .inputs = {random(shape)}});
    const AttrMap nchw = {{"data_format", "NCHW"}};
    check({.op = "BiasAdd", .inputs = {random(shape), random({shape[1]})}, .attrs = nchw});
    check({.op = "BiasAddGrad", .inputs = {random(shape)}, .attrs = nchw});
  }
  check({.op = "BiasAdd",
         .inputs = {Tensor::of<std::int32_t>({1, 2}, {1, 2}), Tensor::vector<std::int32_t>({10, 20})},
         .expect = {Tensor::of<std::int32_t>({1, 2}, {11, 22})}});
}

// Enough elements for partial sums, and rows of every width. The tolerance is that of float32; 16-bit dtypes follow.
TEST(Bias, ColumnSums) {
  for (const std::int64_t columns : {1, 3, 10, 64, 100, 513}) {
    SCOPED_TRACE(columns);
    check({.op = "BiasAddGrad",
           .inputs = {random_tensor(DType::kFloat32, {60000 / columns + 7, columns})},
           .tolerance = 1e-4,
           .other_dtypes = false,
           .check_gradient = false});
  }
  // Added up in 16 bits, 30,000 ones would stop at 256 or 2,048.
  for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    const Tensor ones = cast_to(Tensor::of<float>({30000, 3}, std::vector<float>(90000, 1)), dtype);
    const Tensor sums = cast_to(Tensor::vector<float>({30000, 30000, 30000}), dtype);
    check({.op = "BiasAddGrad",
           .inputs = {ones},
           .expect = {sums},
           .other_dtypes = false,
           .check_gradient = false,
           .unlike_tensorflow = dtype == DType::kBfloat16 ? "TensorFlow adds up in bfloat16 and stops at 256" : ""});
  }
}

TEST(Bias, Refusals) {
  const Tensor x = Tensor::zeros(DType::kFloat32, {2, 3});
  check({.op = "BiasAdd",
         .inputs = {x, Tensor::zeros(DType::kFloat32, {2})},
         .error = Code::kInvalidArgument,
         .error_contains = "2 biases for 3 channels"});
  check({.op = "BiasAdd", .inputs = {x, Tensor::zeros(DType::kFloat32, {1, 3})}, .error = Code::kInvalidArgument});
  check({.op = "BiasAdd",
         .inputs = {Tensor::zeros(DType::kFloat32, {3}), Tensor::zeros(DType::kFloat32, {3})},
         .error = Code::kInvalidArgument});
  check({.op = "BiasAddGrad", .inputs = {Tensor::zeros(DType::kFloat32, {3})}, .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
