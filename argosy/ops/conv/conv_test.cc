#include "argosy/ops/conv/conv.h"

#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor random(Shape shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor sizes(const Shape& shape) {
  std::vector<std::int32_t> ints(shape.sizes().begin(), shape.sizes().end());
  return Tensor::vector(ints);
}

struct ConvCase {
  Shape image, filter;
  std::int64_t stride = 1, dilation = 1;
  std::string padding = "SAME";
  std::string format = "NHWC";
  Ints pads = {};
};

// What TensorFlow's CPU kernels cannot do, or do in less precision.
std::string unlike(const ConvCase& c, DType dtype, bool forward) {
  const bool nchw = c.format == "NCHW";
  if (nchw) return "TensorFlow convolves NHWC only on a CPU";
  if (c.image[3] != c.filter[2] && !forward) return "TensorFlow has no gradients of grouped convolutions on a CPU";
  if (c.dilation > 1 && !forward) return "TensorFlow has no gradients of dilated convolutions on a CPU";
  const bool nothing = c.image.elements() == 0 || c.filter.elements() == 0 || c.image[1] < c.filter[0];
  if (nothing) return "TensorFlow dies of it";
  if (dtype == DType::kBfloat16 || dtype == DType::kFloat16) return "TensorFlow sums 16-bit floats in 16 bits";
  return "";
}

// All three products of one convolution, whose output shape the forward one tells.
void check_all(const std::string& stem, const ConvCase& c, bool gradient = true) {
  SCOPED_TRACE(
      str_cat(stem, c.image, c.filter, " stride ", c.stride, " dilation ", c.dilation, " ", c.padding, c.format));
  const auto four = [&](std::int64_t n) { return c.format == "NHWC" ? Ints{1, n, n, 1} : Ints{1, 1, n, n}; };
  const AttrMap attrs = {{"strides", four(c.stride)},
                         {"dilations", four(c.dilation)},
                         {"padding", c.padding},
                         {"explicit_paddings", c.pads},
                         {"data_format", c.format}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const auto one = [&](const std::string& op, std::vector<Tensor> inputs) {
      for (Tensor& t : inputs) {
        if (is_floating(t.dtype())) t = cast_to(t, dtype);
      }
      check({.op = op,
             .inputs = inputs,
             .attrs = attrs,
             .tolerance = 1e-4,
             .other_dtypes = false,
             .check_gradient = gradient && dtype == DType::kFloat32,
             .unlike_tensorflow = unlike(c, dtype, op == stem)});
    };
    const Tensor x = random(c.image, 1), f = random(c.filter, 2);
    one(stem, {x, f});
    const auto y = evaluate_op(*builtin_ops().find(stem), attrs, {x, f});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    const Tensor dy = random((*y)[0].shape(), 3);
    one(stem + "BackpropInput", {sizes(c.image), f, dy});
    one(stem + "BackpropFilter", {x, sizes(c.filter), dy});
  }
}

TEST(Conv2D, Value) {
  const Tensor x = Tensor::of<float>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor f = Tensor::of<float>({2, 2, 1, 1}, {1, 0, 0, 10});
  const Ints one = {1, 1, 1, 1};
  check({.op = "Conv2D",
         .inputs = {x, f},
         .attrs = {{"strides", one}, {"padding", "VALID"}},
         .expect = {Tensor::of<float>({1, 2, 2, 1}, {51, 62, 84, 95})}});
  // SAME pads at the bottom and on the right first.
  check({.op = "Conv2D",
         .inputs = {x, f},
         .attrs = {{"strides", one}, {"padding", "SAME"}},
         .expect = {Tensor::of<float>({1, 3, 3, 1}, {51, 62, 3, 84, 95, 6, 7, 8, 9})}});
  check({.op = "Conv2D",
         .inputs = {cast_to(x, DType::kInt32), cast_to(f, DType::kInt32)},
         .attrs = {{"strides", one}, {"padding", "VALID"}},
         .expect = {Tensor::of<std::int32_t>({1, 2, 2, 1}, {51, 62, 84, 95})}});
}

TEST(Conv2D, Geometries) {
  for (const std::string& format : {std::string("NHWC"), std::string("NCHW")}) {
    const auto image = [&](std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
      return format == "NHWC" ? Shape{n, h, w, c} : Shape{n, c, h, w};
    };
    for (const char* padding : {"SAME", "VALID"}) {
      check_all("Conv2D", {image(2, 5, 4, 3), {3, 2, 3, 4}, 1, 1, padding, format});
      check_all("Conv2D", {image(1, 7, 5, 2), {3, 3, 2, 3}, 2, 1, padding, format});
      check_all("Conv2D", {image(1, 7, 7, 1), {3, 2, 1, 2}, 1, 2, padding, format});
      check_all("Conv2D", {image(1, 4, 4, 2), {1, 1, 2, 2}, 3, 1, padding, format});
    }
    const Ints pads = format == "NHWC" ? Ints{0, 0, 2, 1, 0, 3, 0, 0} : Ints{0, 0, 0, 0, 2, 1, 0, 3};
    check_all("Conv2D", {image(1, 4, 4, 2), {3, 3, 2, 2}, 2, 1, "EXPLICIT", format, pads});
    check_all("Conv2D", {image(1, 4, 4, 4), {2, 2, 2, 6}, 1, 1, "SAME", format});  // two groups
  }
}

// More patches than kFewPatches: oneDNN's own convolutions, packed and plain filters.
TEST(Conv2D, LargeImages) {
  check_all("Conv2D", {{2, 12, 12, 3}, {3, 3, 3, 16}}, false);
  check_all("Conv2D", {{2, 12, 13, 16}, {3, 3, 16, 32}, 2}, false);
  check_all("Conv2D", {{2, 16, 12, 5}, {5, 3, 5, 7}, 1, 2, "VALID"}, false);
  check_all("Conv2D", {{2, 12, 12, 16}, {1, 1, 16, 16}}, false);
  check_all("Conv2D", {{4, 7, 8, 32}, {3, 3, 32, 8}}, false);  // patches enough for tiles, few enough to be laid out
  check_all("Conv2D", {{3, 13, 14, 4}, {3, 3, 4, 160}, 2}, false);  // 147 patches, no more than the filter is deep
  check_all("Conv2D", {{3, 7, 7, 4}, {1, 1, 4, 160}}, false);
  check_all("Conv2D", {{2, 16, 12, 12}, {3, 3, 16, 16}, 1, 1, "SAME", "NCHW"}, false);
  check_all("Conv2D", {{1, 12, 12, 8}, {3, 3, 4, 16}}, false);
}

TEST(DepthwiseConv2D, StridesThatNoKernelTakes) {
  const Tensor x = random_tensor(DType::kFloat32, {1, 5, 4, 3}), f = random_tensor(DType::kFloat32, {3, 2, 3, 2}),
               dy = random_tensor(DType::kFloat32, {1, 5, 4, 6});
  const Tensor x_sizes = Tensor::vector<std::int32_t>({1, 5, 4, 3}),
               f_sizes = Tensor::vector<std::int32_t>({3, 2, 3, 2});
  const AttrMap attrs = {{"strides", std::vector<std::int64_t>{2, 1, 1, 1}}, {"padding", "SAME"}};
  check({.op = "DepthwiseConv2dNative", .inputs = {x, f}, .attrs = attrs, .error = Code::kInvalidArgument});
  check({.op = "DepthwiseConv2dNativeBackpropInput",
         .inputs = {x_sizes, f, dy},
         .attrs = attrs,
         .error = Code::kInvalidArgument});
  check({.op = "DepthwiseConv2dNativeBackpropFilter",
         .inputs = {x, f_sizes, dy},
         .attrs = attrs,
         .error = Code::kInvalidArgument});
}

TEST(DepthwiseConv2D, Geometries) {
  check_all("DepthwiseConv2dNative", {{1, 5, 4, 3}, {3, 2, 3, 2}});
  check_all("DepthwiseConv2dNative", {{2, 5, 5, 2}, {2, 2, 2, 1}, 2, 1, "VALID"});
  check_all("DepthwiseConv2dNative", {{1, 2, 5, 5}, {3, 3, 2, 2}, 1, 1, "SAME", "NCHW"});
  check_all("DepthwiseConv2dNative", {{2, 14, 14, 32}, {3, 3, 32, 1}}, false);
}

TEST(Conv2D, Empty) {
  check_all("Conv2D", {{0, 4, 4, 2}, {3, 3, 2, 2}}, false);
  check_all("Conv2D", {{1, 2, 4, 2}, {3, 3, 2, 2}, 2, 1, "VALID"}, false);
  check_all("Conv2D", {{1, 4, 4, 2}, {3, 3, 2, 0}}, false);
}

TEST(Conv2D, Refusals) {
  const Ints one = {1, 1, 1, 1};
  const auto refuse = [&](const Tensor& x, const Tensor& f, AttrMap attrs, const char* contains,
                          Code code = Code::kInvalidArgument) {
    if (attrs.find("strides") == nullptr) attrs.set("strides", one);
    if (attrs.find("padding") == nullptr) attrs.set("padding", std::string("VALID"));
    check({.op = "Conv2D", .inputs = {x, f}, .attrs = attrs, .error = code, .error_contains = contains});
  };
  const Tensor x = random({1, 4, 4, 3}), f = random({3, 3, 3, 2});
  refuse(random({4, 4, 3}), f, {}, "rank 4");
  refuse(x, random({3, 3, 2, 2}), {}, "3 channels");
  refuse(x, f, {{"strides", Ints{1, 0, 1, 1}}}, "strides");
  refuse(x, f, {{"strides", Ints{2, 1, 1, 1}}}, "strides", Code::kUnimplemented);
  refuse(x, f, {{"strides", Ints{1, 1}}}, "strides");
  refuse(x, f, {{"dilations", Ints{1, 1, -1, 1}}}, "dilations");
  refuse(x, f, {{"dilations", Ints{1, 1, std::int64_t{1} << 62, 1}}}, "dilations");
  refuse(x, f, {{"padding", "EXPLICIT"}}, "explicit_paddings");
  refuse(x, f, {{"padding", "EXPLICIT"}, {"explicit_paddings", Ints{0, 0, -1, 0, 0, 0, 0, 0}}}, "explicit_paddings");
  refuse(x, random({9, 3, 3, 2}), {}, "negative");
  refuse(x, random({0, 3, 3, 2}), {}, "empty");
  check({.op = "Conv2DBackpropInput",
         .inputs = {Tensor::vector<std::int32_t>({1, 4, 4, 3}), f, random({1, 3, 2, 2})},
         .attrs = {{"strides", one}, {"padding", "VALID"}},
         .error = Code::kInvalidArgument,
         .error_contains = "out_backprop has shape [1,3,2,2], but the convolution gives [1,2,2,2]"});
  check({.op = "Conv2DBackpropFilter",
         .inputs = {x, Tensor::vector<std::int32_t>({3, 3, 3, -2}), random({1, 2, 2, 2})},
         .attrs = {{"strides", one}, {"padding", "VALID"}},
         .error = Code::kInvalidArgument});
}

TEST(Conv2D, Transpose) {
  Graph g;
  const Value x = g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{-1, 2, 3, 4}}});
  const Value f = g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{3, 3, 5, 4}}});
  const Value y = conv2d_transpose(x, f, {.strides = {2, 2}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  EXPECT_EQ(y.shape().to_string(), "[?,4,6,5]");
  const auto out =
      evaluate(g, {{x.endpoint(), random({2, 2, 3, 4})}, {f.endpoint(), random({3, 3, 5, 4})}}, {y.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->at(0).shape().to_string(), "[2,4,6,5]");
}

// The sizes are those of tf.layers.conv2d_transpose.
TEST(Conv2D, TransposeWithoutPaddingReachesOverTheLastStride) {
  struct Case {
    std::array<std::int64_t, 2> strides, window;
    std::string padding;
    const char* shape;
  };
  const Case cases[] = {{{2, 2}, {1, 1}, "VALID", "[?,8,10,2]"},
                        {{2, 2}, {3, 5}, "VALID", "[?,9,13,2]"},
                        {{3, 2}, {2, 2}, "VALID", "[?,12,10,2]"},
                        {{1, 1}, {3, 3}, "VALID", "[?,6,7,2]"},
                        {{2, 2}, {3, 3}, "SAME", "[?,8,10,2]"}};
  for (const Case& c : cases) {
    Graph g;
    const Value x = g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{-1, 4, 5, 3}}});
    const PartialShape of_filter{c.window[0], c.window[1], 2, 3};
    const Value f = g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", of_filter}});
    const Value y = conv2d_transpose(x, f, {.strides = c.strides, .padding = c.padding});
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    EXPECT_EQ(y.shape().to_string(), c.shape);
    const auto out =
        evaluate(g, {{x.endpoint(), random({1, 4, 5, 3})}, {f.endpoint(), random({c.window[0], c.window[1], 2, 3})}},
                 {y.endpoint()});
    EXPECT_TRUE(out.ok()) << c.shape << ": " << out.status().to_string();
  }
}

TEST(FusedConv2D, MatchesItsParts) {
  for (const char* activation : {"", "Relu", "Relu6", "Elu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    for (const std::int64_t side : {3, 12}) {
      std::vector<std::string> ops = {"BiasAdd"};
      if (*activation != 0) ops.emplace_back(activation);
      SCOPED_TRACE(str_cat(activation, side));
      check({.op = "_FusedConv2D",
             .inputs = {random({2, side, side, 4}), random({3, 3, 4, 8}, 2), random({8}, 3)},
             .attrs = {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}, {"num_args", 1}, {"fused_ops", ops}},
             .tolerance = 1e-4,
             .unlike_tensorflow = "an op of our own: TensorFlow's has other attributes"});
    }
  }
}

}  // namespace
}  // namespace argosy
