#include "argosy/ops/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

// Values that are far apart, so that finite differences never change which element of a window is the largest.
Tensor distinct(Shape shape) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(i * 7919 % 1009) / 64;
  return t;
}

struct PoolCase {
  Shape image;
  std::int64_t window_h = 2, window_w = 2, stride = 2;
  std::string padding = "VALID";
  std::string format = "NHWC";
  Ints pads = {};
};

AttrMap attrs_of(const PoolCase& p, bool explicit_pads) {
  const auto four = [&](std::int64_t h, std::int64_t w) {
    return p.format == "NHWC" ? Ints{1, h, w, 1} : Ints{1, 1, h, w};
  };
  AttrMap attrs = {{"ksize", four(p.window_h, p.window_w)},
                   {"strides", four(p.stride, p.stride)},
                   {"padding", p.padding},
                   {"data_format", p.format}};
  if (explicit_pads) attrs.set("explicit_paddings", p.pads);
  return attrs;
}

std::string unlike(const PoolCase& p) { return p.format == "NCHW" ? "TensorFlow pools NHWC only on a CPU" : ""; }

void check_max(const PoolCase& p) {
  SCOPED_TRACE(str_cat("max ", p.image, p.window_h, "x", p.window_w, "/", p.stride, p.padding, p.format));
  const Tensor x = distinct(p.image);
  const AttrMap attrs = attrs_of(p, true);
  check({.op = "MaxPool", .inputs = {x}, .attrs = attrs, .unlike_tensorflow = unlike(p)});
  check({.op = "MaxPool", .inputs = {cast_to(x, DType::kInt32)}, .attrs = attrs, .unlike_tensorflow = unlike(p)});
  const auto y = evaluate_op(*builtin_ops().find("MaxPool"), attrs, {x});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  const Tensor dy = random_tensor(DType::kFloat32, (*y)[0].shape(), 3);
  check({.op = "MaxPoolGrad",
         .inputs = {x, (*y)[0], dy},
         .attrs = attrs,
         .check_gradient = p.padding != "EXPLICIT",
         .constant_inputs = {0, 1},
         .unlike_tensorflow = unlike(p)});
  if (p.padding == "EXPLICIT") return;
  check({.op = "MaxPoolGradGrad",
         .inputs = {x, (*y)[0], random_tensor(DType::kFloat32, x.shape(), 4)},
         .attrs = attrs_of(p, false),
         .constant_inputs = {0, 1},
         .unlike_tensorflow = unlike(p)});
}

void check_avg(const PoolCase& p) {
  SCOPED_TRACE(str_cat("avg ", p.image, p.window_h, "x", p.window_w, "/", p.stride, p.padding, p.format));
  const Tensor x = random_tensor(DType::kFloat32, p.image);
  const AttrMap attrs = attrs_of(p, false);
  check({.op = "AvgPool", .inputs = {x}, .attrs = attrs, .unlike_tensorflow = unlike(p)});
  const auto y = evaluate_op(*builtin_ops().find("AvgPool"), attrs, {x});
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  std::vector<std::int32_t> sizes(p.image.sizes().begin(), p.image.sizes().end());
  check({.op = "AvgPoolGrad",
         .inputs = {Tensor::vector(sizes), random_tensor(DType::kFloat32, (*y)[0].shape(), 3)},
         .attrs = attrs,
         .unlike_tensorflow = unlike(p)});
}

TEST(Pool, Values) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 1}, {1, 5, 2, 5, 3, 4});
  const AttrMap same_padding = {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}};
  check({.op = "MaxPool",
         .inputs = {x},
         .attrs = same_padding,
         .expect = {Tensor::of<float>({1, 1, 2, 1}, {5, 4})},
         .check_gradient = false});
  check({.op = "AvgPool",
         .inputs = {x},
         .attrs = same_padding,
         .expect = {Tensor::of<float>({1, 1, 2, 1}, {3.5, 3})},
         .check_gradient = false});
  // The first window has 5 twice. The first of them, in row-major order, gets the whole gradient.
  check({.op = "MaxPoolGrad",
         .inputs = {x, Tensor::of<float>({1, 1, 2, 1}, {5, 4}), Tensor::of<float>({1, 1, 2, 1}, {10, 20})},
         .attrs = same_padding,
         .expect = {Tensor::of<float>({1, 2, 3, 1}, {0, 10, 0, 0, 0, 20})},
         .check_gradient = false});
  check({.op = "MaxPoolWithArgmax",
         .inputs = {x},
         .attrs = same_padding,
         .expect = {Tensor::of<float>({1, 1, 2, 1}, {5, 4}), Tensor::of<std::int64_t>({1, 1, 2, 1}, {1, 5})},
         .check_gradient = false});
  const Tensor dy = Tensor::of<float>({1, 1, 2, 1}, {10, 20});
  check({.op = "MaxPoolGradWithArgmax",
         .inputs = {x, dy, Tensor::of<std::int64_t>({1, 1, 2, 1}, {1, 5})},
         .attrs = same_padding,
         .expect = {Tensor::of<float>({1, 2, 3, 1}, {0, 10, 0, 0, 0, 20})}});
  const Tensor window = Tensor::vector<std::int32_t>({1, 2, 2, 1});
  check({.op = "MaxPoolGradV2",
         .inputs = {x, Tensor::of<float>({1, 1, 2, 1}, {5, 4}), dy, window, window},
         .attrs = {{"padding", "SAME"}},
         .expect = {Tensor::of<float>({1, 2, 3, 1}, {0, 10, 0, 0, 0, 20})},
         .other_dtypes = false,
         .constant_inputs = {0, 1}});
}

TEST(Pool, Geometries) {
  for (const char* padding : {"VALID", "SAME"}) {
    for (const PoolCase& p : {PoolCase{.image = {2, 4, 4, 3}}, PoolCase{.image = {1, 5, 4, 2}, .window_h = 3},
                              PoolCase{.image = {2, 5, 5, 1}, .stride = 1},
                              PoolCase{.image = {1, 3, 7, 35}, .window_h = 3, .window_w = 3, .stride = 3},
                              PoolCase{.image = {1, 4, 4, 2}, .window_h = 1, .window_w = 1, .stride = 3},
                              PoolCase{.image = {1, 2, 4, 4}, .format = "NCHW"},
                              PoolCase{.image = {1, 3, 5, 5}, .window_h = 3, .stride = 1, .format = "NCHW"}}) {
      PoolCase padded = p;
      padded.padding = padding;
      check_max(padded);
      check_avg(padded);
    }
  }
  check_max(
      {.image = {1, 4, 5, 2}, .window_h = 3, .window_w = 3, .padding = "EXPLICIT", .pads = {0, 0, 1, 2, 0, 1, 0, 0}});
}

// As in TensorFlow: the maximum ignores NaN, and is the lowest float where all are NaN. The gradient goes to a NaN that
// is the first element of its window.
TEST(Pool, NaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), lowest = std::numeric_limits<float>::lowest();
  const Tensor x = Tensor::of<float>({3, 1, 2, 1}, {nan, 1, 2, nan, nan, nan});
  const AttrMap attrs = {{"ksize", Ints{1, 1, 2, 1}}, {"strides", Ints{1, 1, 2, 1}}, {"padding", "VALID"}};
  const Tensor y = Tensor::of<float>({3, 1, 1, 1}, {1, 2, lowest});
  check(
      {.op = "MaxPool", .inputs = {x}, .attrs = attrs, .expect = {y}, .other_dtypes = false, .check_gradient = false});
  check({.op = "MaxPoolGrad",
         .inputs = {x, y, Tensor::of<float>({3, 1, 1, 1}, {3, 4, 5})},
         .attrs = attrs,
         .expect = {Tensor::of<float>({3, 1, 2, 1}, {3, 0, 4, 0, 5, 0})},
         .check_gradient = false});
}

TEST(Pool, WindowAsInput) {
  const Tensor x = distinct({1, 4, 4, 2});
  const Tensor two = Tensor::vector<std::int32_t>({1, 2, 2, 1});
  check({.op = "MaxPoolV2", .inputs = {x, two, two}, .attrs = {{"padding", "VALID"}}});
  check({.op = "MaxPoolV2",
         .inputs = {x, Tensor::vector<std::int32_t>({1, 0, 2, 1}), two},
         .attrs = {{"padding", "VALID"}},
         .error = Code::kInvalidArgument});
  for (const char* padding : {"VALID", "SAME"}) {
    const Tensor image = distinct({2, 5, 4, 2}), window = Tensor::vector<std::int32_t>({1, 3, 2, 1});
    const auto y = evaluate_op(*builtin_ops().find("MaxPoolV2"), {{"padding", padding}}, {image, window, two});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    check({.op = "MaxPoolGradV2",
           .inputs = {image, (*y)[0], random_tensor(DType::kFloat32, (*y)[0].shape(), 3), window, two},
           .attrs = {{"padding", padding}},
           .constant_inputs = {0, 1}});
    check({.op = "MaxPoolGradGradV2",
           .inputs = {image, (*y)[0], random_tensor(DType::kFloat32, image.shape(), 4), window, two},
           .attrs = {{"padding", padding}},
           .constant_inputs = {0, 1}});
    check({.op = "MaxPoolGradGradV2",
           .inputs = {image, image, random_tensor(DType::kFloat32, image.shape(), 4), window, two},
           .attrs = {{"padding", padding}},
           .error = Code::kInvalidArgument});
  }
  for (const bool batch : {false, true}) {
    check({.op = "MaxPoolWithArgmax",
           .inputs = {distinct({2, 4, 5, 3})},
           .attrs = {{"ksize", Ints{1, 2, 2, 1}},
                     {"strides", Ints{1, 2, 2, 1}},
                     {"padding", "SAME"},
                     {"include_batch_in_index", batch}}});
  }
}

TEST(Pool, EmptyAndRefused) {
  const AttrMap attrs = {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}};
  check({.op = "MaxPool", .inputs = {distinct({0, 4, 4, 2})}, .attrs = attrs});
  check({.op = "AvgPool", .inputs = {distinct({2, 4, 4, 0})}, .attrs = attrs});
  check({.op = "MaxPool", .inputs = {distinct({4, 4, 2})}, .attrs = attrs, .error = Code::kInvalidArgument});
  AttrMap bad = attrs;
  bad.set("ksize", Ints{1, 2, 2, 2});
  check({.op = "MaxPool", .inputs = {distinct({1, 4, 4, 2})}, .attrs = bad, .error = Code::kUnimplemented});
  bad.set("ksize", Ints{1, 0, 2, 1});
  check({.op = "MaxPool", .inputs = {distinct({1, 4, 4, 2})}, .attrs = bad, .error = Code::kInvalidArgument});
  bad = attrs;
  bad.set("padding", AttrValue(std::string("EXPLICIT")));
  bad.set("explicit_paddings", Ints{0, 0, 2, 0, 0, 0, 0, 0});
  check({.op = "MaxPool",
         .inputs = {distinct({1, 4, 4, 2})},
         .attrs = bad,
         .error = Code::kInvalidArgument,
         .error_contains = "smaller than the window"});
  const Tensor grad = distinct({1, 2, 2, 1});
  check({.op = "MaxPoolGradWithArgmax",
         .inputs = {distinct({1, 4, 4, 1}), grad, Tensor::of<std::int64_t>({1, 2, 2, 1}, {0, 1, 16, 3})},
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .error_contains = "argmax 16"});
}

// Channels that fill vectors, and that do not; windows that overlap, and that do not.
TEST(Pool, OfBfloat16AsOfFloat32) {
  for (const std::int64_t channels : {3, 16, 50}) {
    for (const std::int64_t window : {2, 3}) {
      SCOPED_TRACE(str_cat(channels, " channels, window ", window));
      const AttrMap attrs = attrs_of({.window_h = window, .window_w = window}, false);
      // Ties and a NaN: the result shows which of equal elements a kernel takes, and whether it ignores NaN.
      Tensor x = cast_to(random_tensor(DType::kFloat32, {2, 7, 6, channels}, 1, -2, 2), DType::kBfloat16);
      for (bfloat16& v : x.values<bfloat16>()) v = bfloat16(std::floor(static_cast<float>(v) * 2));
      x.data<bfloat16>()[channels] = std::numeric_limits<bfloat16>::quiet_NaN();
      const auto run = [&](const char* op, std::vector<Tensor> inputs, DType dtype) {
        for (Tensor& t : inputs) {
          if (is_floating(t.dtype())) t = cast_to(t, dtype);
        }
        const auto out = evaluate_op(*builtin_ops().find(op), attrs, inputs);
        EXPECT_TRUE(out.ok()) << out.status().to_string();
        return cast_to((*out)[0], DType::kBfloat16);
      };
      const auto expect_equal = [&](const char* op, const std::vector<Tensor>& inputs, double tolerance) {
        EXPECT_EQ(difference(run(op, inputs, DType::kBfloat16), run(op, inputs, DType::kFloat32), tolerance), "") << op;
      };
      expect_equal("MaxPool", {x}, 0);
      expect_equal("AvgPool", {x}, 4e-3);
      const Tensor y = run("MaxPool", {x}, DType::kBfloat16);
      const Tensor dy = random_tensor(DType::kFloat32, y.shape(), 3);
      expect_equal("MaxPoolGrad", {x, y, cast_to(dy, DType::kBfloat16)},
                   window == 2 ? 0 : 2e-2);  // sums are rounded one by one
      const Tensor sizes = Tensor::vector<std::int32_t>({2, 7, 6, static_cast<std::int32_t>(channels)});
      expect_equal("AvgPoolGrad", {sizes, cast_to(dy, DType::kBfloat16)}, window == 2 ? 4e-3 : 2e-2);
    }
  }
}

}  // namespace
}  // namespace argosy
