#include "argosy/ops/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor random(Shape shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor positive(Shape shape) { return random_tensor(DType::kFloat32, shape, 9, 0.5, 1.5); }

constexpr const char* kReserves = "TensorFlow's reserve spaces are unset when not training, the third one is opaque";

TEST(BatchNorm, Value) {
  const auto vector = [](float v) { return Tensor::vector<float>({v}); };
  const Tensor none = Tensor::zeros(DType::kFloat32, {0});
  const Tensor x = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 6});  // mean 3, variance 3.5
  const Tensor y = Tensor::of<float>({1, 2, 2, 1}, {-1, 0, 1, 4});
  const auto is = [&](AttrMap attrs, const Tensor& mean, const Tensor& variance, std::vector<Tensor> expect) {
    attrs.set("epsilon", AttrValue(0.5f));
    check({.op = "FusedBatchNormV3",
           .inputs = {x, vector(2), vector(1), mean, variance},
           .attrs = std::move(attrs),
           .expect = std::move(expect),
           .other_dtypes = false,
           .unlike_tensorflow = kReserves});
  };
  is({}, none, none, {y, vector(3), vector(14 / 3.f), vector(3), vector(3.5), none});
  // A moving average, and then what was learned.
  is({{"exponential_avg_factor", 0.25}}, vector(7), vector(1), {y, vector(6), vector(0.75f + 14 / 12.f)});
  is({{"is_training", false}}, vector(1), vector(3.5),
     {Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 6}), vector(1), vector(3.5)});
}

// The sizes of the blocks a channel is summed in, channels first and last, all three versions.
TEST(BatchNorm, Shapes) {
  struct Case {
    Shape x;
    std::string format = "NHWC";
  };
  for (const Case& k :
       {Case{{2, 3, 3, 5}}, {{8, 16, 16, 35}}, {{1, 1, 1, 3}}, {{2, 5, 3, 4}, "NCHW"}, {{0, 2, 2, 3}}}) {
    SCOPED_TRACE(str_cat(k.x, k.format));
    const std::int64_t channels = k.format == "NHWC" ? k.x[3] : k.x[1];
    for (const bool training : {true, false}) {
      for (const char* version : {"", "V2", "V3"}) {
        for (const DType dtype :
             {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {  // of x; statistics stay float32
          if (*version == 0 && dtype != DType::kFloat32) continue;
          const Tensor x = cast_to(random(k.x), dtype), dy = cast_to(random(k.x, 5), dtype);
          const Tensor scale = random({channels}, 2), none = Tensor::zeros(DType::kFloat32, {0});
          const AttrMap attrs = {{"data_format", k.format}, {"is_training", training}};
          const Tensor mean = training ? none : random({channels}, 4),
                       variance = training ? none : positive({channels});
          check({.op = str_cat("FusedBatchNorm", version),
                 .inputs = {x, scale, random({channels}, 3), mean, variance},
                 .attrs = attrs,
                 .tolerance = 1e-4,
                 .other_dtypes = false,
                 .unlike_tensorflow = kReserves});
          std::vector<Tensor> back = {dy, x, scale, random({channels}, 6), positive({channels})};
          if (std::string(version) == "V3") back.push_back(none);
          check({.op = str_cat("FusedBatchNormGrad", version),
                 .inputs = back,
                 .attrs = attrs,
                 .tolerance = 1e-3,
                 .other_dtypes = false});
        }
      }
    }
  }
  check({.op = "FusedBatchNormV3",
         .inputs = {random({2, 2, 2, 2, 3}), random({3}), random({3}), random({0}), random({0})},
         .attrs = {{"data_format", "NDHWC"}},
         .tolerance = 1e-4,
         .other_dtypes = false,
         .unlike_tensorflow = kReserves});
}

constexpr const char* kOurs = "TensorFlow's CPU kernels of the fused ops are for oneDNN's own layouts";

// The fused ops against their parts: vectors of every width, both layouts, every dtype, with and without a side.
TEST(BatchNorm, FusedWithWhatFollows) {
  for (const std::string format : {"NHWC", "NCHW"}) {
    for (const int sides : {0, 1}) {
      for (const char* activation : {"Identity", "Relu"}) {
        for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {
          SCOPED_TRACE(str_cat(format, sides, activation, dtype_name(dtype)));
          const Shape shape = format == "NHWC" ? Shape{4, 5, 3, 83} : Shape{4, 83, 5, 3};
          const Tensor x = cast_to(random(shape), dtype), side = cast_to(random(shape, 7), dtype);
          const Tensor scale = random({83}, 2), offset = random({83}, 3), none = Tensor::zeros(DType::kFloat32, {0});
          const AttrMap plain = {{"data_format", format}, {"epsilon", 0.01f}};
          const auto value = [](const std::string& op, const AttrMap& attrs, const std::vector<Tensor>& inputs) {
            auto made = evaluate_op(*builtin_ops().find(op), attrs, inputs);
            EXPECT_TRUE(made.ok()) << made.status().to_string();
            return *std::move(made);
          };
          const auto relu = [&](const Tensor& t) { return *activation == 'R' ? value("Relu", {}, {t})[0] : t; };
          std::vector<Tensor> want = value("FusedBatchNormV3", plain, {x, scale, offset, none, none});
          want[0] = relu(sides > 0 ? value("AddV2", {}, {want[0], side})[0] : want[0]);
          AttrMap attrs = plain;
          attrs.set("activation_mode", std::string(activation));
          attrs.set("num_side_inputs", std::int64_t{sides});
          std::vector<Tensor> inputs = {x, scale, offset, none, none};
          if (sides > 0) inputs.push_back(side);
          const double tolerance = dtype == DType::kFloat32 ? 1e-5 : dtype == DType::kFloat16 ? 1e-2 : 5e-2;
          check({.op = "_FusedBatchNormEx",
                 .inputs = inputs,
                 .attrs = attrs,
                 .expect = want,
                 .tolerance = tolerance,
                 .other_dtypes = false,
                 .unlike_tensorflow = kOurs});
          const Tensor dy = cast_to(random(shape, 5), dtype);
          const Tensor masked = *activation == 'R' ? value("ReluGrad", {}, {dy, want[0]})[0] : dy;
          std::vector<Tensor> back = value("FusedBatchNormGradV3", plain, {masked, x, scale, want[3], want[4], none});
          if (sides > 0) back.push_back(masked);
          check({.op = "_FusedBatchNormGradEx",
                 .inputs = {dy, x, scale, want[3], want[4], none, offset, want[0]},
                 .attrs = attrs,
                 .expect = back,
                 .tolerance = dtype == DType::kFloat32 ? 1e-4 : 1e-1,
                 .other_dtypes = false,
                 .unlike_tensorflow = kOurs});
        }
      }
    }
  }
}

TEST(BatchNorm, FusedRefusals) {
  const Tensor x = random({2, 2, 2, 3}), none = Tensor::zeros(DType::kFloat32, {0});
  const auto refuse = [&](AttrMap attrs, const Tensor& side) {
    attrs.set("num_side_inputs", std::int64_t{1});
    check({.op = "_FusedBatchNormEx",
           .inputs = {x, random({3}), random({3}), none, none, side},
           .attrs = std::move(attrs),
           .error = Code::kInvalidArgument,
           .unlike_tensorflow = kOurs});
  };
  refuse({{"activation_mode", "Tanh"}}, x);
  refuse({}, random({2, 2, 2, 1}));
  const auto refuse_back = [&](const Tensor& offset, const Tensor& y) {
    check({.op = "_FusedBatchNormGradEx",
           .inputs = {x, x, random({3}), random({3}), positive({3}), none, offset, y},
           .attrs = {{"activation_mode", "Relu"}},
           .error = Code::kInvalidArgument,
           .unlike_tensorflow = kOurs});
  };
  refuse_back(random({2}), x);
  refuse_back(random({3}), random({2, 2, 1, 3}));
}

TEST(BatchNorm, LargeMeanKeepsItsVariance) {
  Tensor x = random({4, 8, 8, 16});
  for (float& v : x.values<float>()) v += 1000;
  check({.op = "FusedBatchNormV3",
         .inputs = {x, positive({16}), random({16}), random({0}), random({0})},
         .tolerance = 2e-3,
         .other_dtypes = false,
         .unlike_tensorflow = kReserves});
}

TEST(BatchNorm, Refusals) {
  const auto refuse = [](Shape x, Shape scale, AttrMap attrs) {
    check({.op = "FusedBatchNormV3",
           .inputs = {random(std::move(x)), random(std::move(scale)), random({3}), random({0}), random({0})},
           .attrs = std::move(attrs),
           .error = Code::kInvalidArgument});
  };
  refuse({2, 2, 3}, {3}, {});
  refuse({2, 2, 2, 3}, {2}, {});
  refuse({2, 2, 2, 3}, {1, 3}, {});
  refuse({2, 2, 2, 3}, {3}, {{"is_training", false}});
  refuse({2, 2, 2, 3}, {3}, {{"exponential_avg_factor", 0.5}});
}

// The fused gradient against that of the same function written with single ops.
TEST(BatchNorm, GradientMatchesItsParts) {
  for (const bool training : {true, false}) {
    Graph g;
    const Value x = constant(g, random({2, 3, 3, 4})), scale = constant(g, random({4}, 2)),
                offset = constant(g, random({4}, 3));
    const Value weights = constant(g, random({2, 3, 3, 4}, 4));
    const Value mean = constant(g, random({4}, 5)), variance = constant(g, positive({4}));
    const Value fused =
        fused_batch_norm(x, scale, offset, {.mean = mean, .variance = variance, .is_training = training}).y;
    const Value m = g.add("Mean", {x, constant(g, Tensor::vector<std::int32_t>({0, 1, 2}))}, {{"keep_dims", true}});
    const Value v =
        g.add("Mean", {g.add("SquaredDifference", {x, m}), constant(g, Tensor::vector<std::int32_t>({0, 1, 2}))},
              {{"keep_dims", true}});
    const Value parts = batch_normalization(x, training ? m : mean, training ? v : variance, offset, scale);
    const auto a = gradients(g, {fused}, {x, scale, offset}, {.grad_ys = {weights}});
    const auto b = gradients(g, {parts}, {x, scale, offset}, {.grad_ys = {weights}});
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    const auto out = evaluate(g, {},
                              {fused.endpoint(), a[0].endpoint(), a[1].endpoint(), a[2].endpoint(), parts.endpoint(),
                               b[0].endpoint(), b[1].endpoint(), b[2].endpoint()});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(difference((*out)[i], (*out)[i + 4], 1e-4), "") << i;
  }
}

// float32 alone, hence the wide step.
TEST(BatchNorm, GradientsOfEveryVersion) {
  for (const char* version : {"", "V2", "V3"}) {
    for (const bool training : {true, false}) {
      const std::string op = str_cat("FusedBatchNorm", version);
      check_gradients({.ops = {op},
                       .at = {random({3, 2, 2, 2}), positive({2}), random({2}, 3)},
                       .f =
                           [&](Graph& g, const auto& xs) {
                             const Value mean = constant(g, random({2}, 5)), variance = constant(g, positive({2}));
                             return std::vector<Value>{g.add(op, {xs[0], xs[1], xs[2], mean, variance},
                                                             {{"is_training", training}, {"epsilon", 0.1f}})};
                           },
                       .step = 1e-2,
                       .tolerance = 2e-3});
    }
  }
}

// Gradients of gradients, as functions of what the inner ones see.
TEST(BatchNorm, GradientsOfGradients) {
  for (const char* version : {"", "V2", "V3"}) {
    for (const bool training : {true, false}) {
      for (const std::string format : {"NHWC", "NCHW"}) {
        SCOPED_TRACE(str_cat(version, training, format));
        const std::string op = str_cat("FusedBatchNorm", version);
        const Shape shape = format == "NHWC" ? Shape{3, 1, 2, 2} : Shape{3, 2, 1, 2};
        check_gradients({.ops = {str_cat("FusedBatchNormGrad", version)},
                         .at = {random(shape), positive({2}), random(shape, 3)},
                         .f =
                             [&](Graph& g, const auto& xs) {
                               const Value mean = constant(g, random({2}, 5)), variance = constant(g, positive({2})),
                                           offset = constant(g, random({2}, 7));
                               const Value y =
                                   g.add(op, {xs[0], xs[1], offset, mean, variance},
                                         {{"is_training", training}, {"epsilon", 0.1f}, {"data_format", format}});
                               return gradients(g, {y}, {xs[0], xs[1], offset}, {.grad_ys = {xs[2]}});
                             },
                         .step = 1e-2,
                         .tolerance = 3e-3});
      }
    }
  }
}

// The statistics are as the forward pass left them, and 16-bit images are computed with in float32.
TEST(BatchNorm, GradientsOfGradientsInEveryDtype) {
  for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    Graph g;
    const auto second = [&](DType of) {
      const auto in = [&](std::uint64_t seed) {
        return constant(g, cast_to(cast_to(random({4, 3, 3, 2}, seed), dtype), of));
      };
      const Value x = in(1), dy = in(2), scale = constant(g, positive({2}));
      const Value y = fused_batch_norm(x, scale, constant(g, random({2}, 7)), {.epsilon = 0.1f}).y;
      const auto first = gradients(g, {y}, {x}, {.grad_ys = {dy}});
      return gradients(g, first, {x, scale, dy}, {.grad_ys = {in(3)}});
    };
    const auto narrow = second(dtype), exact = second(DType::kFloat32);
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    for (std::size_t i = 0; i < 3; ++i) {
      const auto out = evaluate(g, {}, {narrow[i].endpoint(), exact[i].endpoint()});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      EXPECT_EQ((*out)[0].dtype(), i == 1 ? DType::kFloat32 : dtype);
      EXPECT_EQ(difference(cast_to((*out)[0], DType::kFloat32), (*out)[1], dtype == DType::kFloat16 ? 5e-3 : 4e-2), "")
          << i;
    }
  }
}

TEST(LayerNorm, Cases) {
  check({.op = "_LayerNorm",
         .inputs = {Tensor::of<float>({1, 4}, {1, 2, 3, 6}), Tensor::vector<float>({2, 2, 2, 2}),
                    Tensor::vector<float>({1, 1, 1, 1})},
         .attrs = {{"epsilon", 0.5}},
         .expect = {Tensor::of<float>({1, 4}, {-1, 0, 1, 4})}});
  for (const Shape& shape :
       {Shape{3, 7}, Shape{2, 2, 33}, Shape{3, 16}, Shape{2, 64}, Shape{5}, Shape{0, 3}, Shape{2, 0}}) {
    SCOPED_TRACE(shape.to_string());
    const Tensor scale = random({shape.back()}, 2);
    check({.op = "_LayerNorm",
           .inputs = {random(shape), scale, random({shape.back()}, 3)},
           .tolerance = 1e-4,
           .gradient_tolerance = 1e-4});
    check({.op = "_LayerNormGrad", .inputs = {random(shape, 4), random(shape), scale}, .tolerance = 1e-3});
  }
  check({.op = "_LayerNormGrad",
         .inputs = {random({300, 200}, 4), random({300, 200}), random({200})},
         .tolerance = 1e-3});
  check({.op = "_LayerNorm", .inputs = {random({2, 3}), random({2}), random({3})}, .error = Code::kInvalidArgument});
  check({.op = "_LayerNorm", .inputs = {random({}), random({1}), random({1})}, .error = Code::kInvalidArgument});
}

// The definition, written out.
TEST(LRN, Definition) {
  const Tensor x = random({1, 2, 1, 7});
  const double bias = 2, alpha = 0.3, beta = 0.75;
  Tensor y = Tensor::zeros(DType::kFloat32, x.shape());
  for (int row = 0; row < 2; ++row) {
    for (int c = 0; c < 7; ++c) {
      double squares = 0;
      for (int k = std::max(0, c - 2); k <= std::min(6, c + 2); ++k)
        squares += std::pow(x.data<float>()[row * 7 + k], 2);
      y.data<float>()[row * 7 + c] =
          static_cast<float>(x.data<float>()[row * 7 + c] * std::pow(bias + alpha * squares, -beta));
    }
  }
  const AttrMap attrs = {{"depth_radius", 2}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}};
  check({.op = "LRN", .inputs = {x}, .attrs = attrs, .expect = {y}});
  AttrMap bad = attrs;
  bad.set("depth_radius", AttrValue(std::int64_t{-1}));
  check({.op = "LRN", .inputs = {x}, .attrs = bad, .error = Code::kInvalidArgument});
  check({.op = "LRN", .inputs = {random({2, 3})}, .attrs = attrs, .error = Code::kInvalidArgument});
  check({.op = "LRN", .inputs = {random({1, 1, 1, 3})}, .attrs = {{"depth_radius", 1 << 30}}});
  bad.set("depth_radius", AttrValue(std::int64_t{1} << 31));
  check({.op = "LRN", .inputs = {x}, .attrs = bad, .error = Code::kInvalidArgument});
}

TEST(LRN, GradientsByDifferences) {
  const AttrMap attrs = {{"depth_radius", 1}, {"bias", 1.5f}, {"alpha", 0.4f}, {"beta", 0.6f}};
  const Tensor x = random({1, 2, 2, 6});
  check_gradients({.ops = {"LRN"},
                   .at = {x},
                   .f = [&](Graph& g, const auto& xs) { return std::vector<Value>{g.add("LRN", xs, attrs)}; },
                   .step = 1e-2,
                   .tolerance = 2e-3});
  const auto y = evaluate_op(*builtin_ops().find("LRN"), attrs, {x});
  ASSERT_TRUE(y.ok());
  check({.op = "LRNGrad", .inputs = {random({1, 2, 2, 6}, 2), x, (*y)[0]}, .attrs = attrs, .tolerance = 1e-5});
}

TEST(LRN, Gradient) {
  Graph g;
  const Tensor at = random({1, 1, 2, 6}), weights = random({1, 1, 2, 6}, 2);
  const Value x = placeholder(g, DType::kFloat32, {1, 1, 2, 6});
  const Value y = local_response_normalization(x, 1, 1.5f, 0.4f, 0.6f);
  const auto dx = gradients(g, {y}, {x}, {.grad_ys = {constant(g, weights)}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto analytic = evaluate(g, {{x.endpoint(), at}}, {dx[0].endpoint()});
  ASSERT_TRUE(analytic.ok()) << analytic.status().to_string();
  for (std::int64_t i = 0; i < at.elements(); ++i) {
    const auto loss = [&](float step) {
      Tensor moved = at.clone();
      moved.data<float>()[i] += step;
      const auto out = evaluate(g, {{x.endpoint(), moved}}, {y.endpoint()});
      double sum = 0;
      for (std::int64_t k = 0; k < at.elements(); ++k)
        sum += double{(*out)[0].data<float>()[k]} * weights.data<float>()[k];
      return sum;
    };
    EXPECT_NEAR((*analytic)[0].data<float>()[i], (loss(1e-2f) - loss(-1e-2f)) / 2e-2, 2e-3) << i;
  }
}

TEST(Norm, Composed) {
  Graph g;
  const Value x = constant(g, Tensor::of<float>({2, 2}, {3, 4, 0, 0}));
  const Moments m = moments(x, {1});
  const auto out =
      evaluate(g, {},
               {l2_normalize(x, {1}).endpoint(), m.mean.endpoint(), m.variance.endpoint(),
                dropout(constant(g, Tensor::of<float>({1}, {8})), 0).endpoint(),
                dropout(constant(g, random_tensor(DType::kFloat32, {1000}, 1, 8, 8)), 0.75f, 3).endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<float>({2, 2}, {0.6f, 0.8f, 0, 0}), 1e-6), "");
  EXPECT_EQ(difference((*out)[1], Tensor::vector<float>({3.5, 0}), 1e-6), "");
  EXPECT_EQ(difference((*out)[2], Tensor::vector<float>({0.25, 0}), 1e-6), "");
  EXPECT_EQ((*out)[3].data<float>()[0], 8);
  int kept = 0;
  for (const float v : (*out)[4].values<float>()) {
    EXPECT_TRUE(v == 0 || v == 32) << v;
    kept += v != 0;
  }
  EXPECT_NEAR(kept, 250, 60);
  dropout(x, 1.0f);
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
