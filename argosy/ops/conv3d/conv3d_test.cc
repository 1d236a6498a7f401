#include "argosy/ops/conv3d/conv3d.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Sizes = std::vector<std::int64_t>;

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor sizes(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }

TEST(Conv3dOps, Convolution) {
  for (const char* padding : {"SAME", "VALID"}) {
    for (const Sizes& strides : {Sizes{1, 1, 1, 1, 1}, Sizes{1, 2, 1, 2, 1}}) {
      const AttrMap attrs = {{"strides", strides}, {"padding", padding}};
      const Shape x{2, 4, 3, 5, 2}, filter{2, 2, 3, 2, 3};
      check({.op = "Conv3D", .inputs = {numbers(x), numbers(filter, 2)}, .attrs = attrs, .tolerance = 1e-4});
      const bool same = padding[0] == 'S';
      const auto out = [&](int axis, std::int64_t window) {
        const std::int64_t s = strides[static_cast<std::size_t>(axis)];
        return same ? (x[axis] + s - 1) / s : (x[axis] - window) / s + 1;
      };
      const Tensor dy = numbers({2, out(1, 2), out(2, 2), out(3, 3), 3}, 3);
      check({.op = "Conv3DBackpropInputV2",
             .inputs = {sizes({2, 4, 3, 5, 2}), numbers(filter, 2), dy},
             .attrs = attrs,
             .tolerance = 1e-4,
             .other_dtypes = same});
      check({.op = "Conv3DBackpropFilterV2",
             .inputs = {numbers(x), sizes({2, 2, 3, 2, 3}), dy},
             .attrs = attrs,
             .tolerance = 1e-4,
             .other_dtypes = false});
    }
  }
  const AttrMap plain = {{"strides", Sizes{1, 1, 1, 1, 1}}, {"padding", "VALID"}};
  const auto refuses = [&](std::vector<Tensor> inputs, Code code = Code::kInvalidArgument, AttrMap attrs = {}) {
    for (const auto& entry : plain) {
      if (attrs.find(entry.name) == nullptr) attrs.set(entry.name, entry.value);
    }
    check({.op = "Conv3D", .inputs = std::move(inputs), .attrs = attrs, .error = code});
  };
  refuses({numbers({1, 2, 2, 2, 3}), numbers({1, 1, 1, 2, 3})});
  refuses({numbers({2, 2, 2, 3}), numbers({1, 1, 1, 3, 3})});
  refuses({numbers({1, 2, 2, 2, 3}), numbers({1, 1, 1, 3, 3})}, Code::kInvalidArgument,
          {{"strides", Sizes{1, 0, 1, 1, 1}}});
}

// It divided by the number of channels.
TEST(Conv3dOps, OfNoChannelsIsZero) {
  check({.op = "Conv3D",
         .inputs = {Tensor::zeros(DType::kFloat32, {1, 2, 2, 2, 0}), Tensor::zeros(DType::kFloat32, {1, 1, 1, 0, 3})},
         .attrs = {{"strides", Sizes{1, 1, 1, 1, 1}}, {"padding", "SAME"}},
         .expect = {Tensor::zeros(DType::kFloat32, {1, 2, 2, 2, 3})},
         .check_gradient = false,
         .unlike_tensorflow = "refuses filters of no channels"});
}

TEST(Conv3dOps, Pooling) {
  for (const char* padding : {"SAME", "VALID"}) {
    for (const Sizes& strides : {Sizes{1, 1, 1, 1, 1}, Sizes{1, 2, 1, 2, 1}}) {
      const AttrMap attrs = {{"strides", strides}, {"padding", padding}, {"ksize", Sizes{1, 2, 2, 3, 1}}};
      const Tensor x = numbers({2, 4, 3, 5, 2});
      check({.op = "MaxPool3D", .inputs = {x}, .attrs = attrs, .check_gradient = false});
      check({.op = "AvgPool3D", .inputs = {x}, .attrs = attrs});
      check_gradients({.ops = {"MaxPool3D"},
                       .at = {x},
                       .f = [&](Graph&, const std::vector<Value>& v) -> std::vector<Value> {
                         return {max_pool3d(v[0], {1, 2, 2, 3, 1}, strides, padding)};
                       },
                       .step = 1e-3,
                       .tolerance = 1e-2});
    }
  }
  const AttrMap attrs = {{"strides", Sizes{1, 2, 2, 2, 1}}, {"padding", "VALID"}, {"ksize", Sizes{1, 2, 2, 2, 1}}};
  check({.op = "MaxPool3D",
         .inputs = {Tensor::of<float>({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 8, 7, 6})},
         .attrs = attrs,
         .expect = {Tensor::of<float>({1, 1, 1, 1, 1}, {8})},
         .check_gradient = false});
  check({.op = "MaxPool3DGrad",
         .inputs = {Tensor::of<float>({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 8, 7, 6}),
                    Tensor::of<float>({1, 1, 1, 1, 1}, {8}), Tensor::of<float>({1, 1, 1, 1, 1}, {3})},
         .attrs = attrs,
         .expect = {Tensor::of<float>({1, 2, 2, 2, 1}, {0, 0, 0, 0, 0, 3, 0, 0})}});
  check({.op = "AvgPool3DGrad",
         .inputs = {sizes({1, 2, 2, 3, 1}), Tensor::of<float>({1, 1, 1, 1, 1}, {8})},
         .attrs = attrs,
         .expect = {Tensor::of<float>({1, 2, 2, 3, 1}, {1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0})}});
  check({.op = "AvgPool3D", .inputs = {numbers({2, 4, 3, 5})}, .attrs = attrs, .error = Code::kInvalidArgument});
  check({.op = "AvgPool3DGrad",
         .inputs = {sizes({1, 2, 2, 3, 1}), numbers({1, 1, 1, 2, 1})},
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "takes gradients of any shape"});
}

TEST(Conv3dOps, GradientsOfMaxPooling) {
  for (const char* padding : {"SAME", "VALID"}) {
    const Sizes window = {1, 2, 2, 3, 1}, strides = {1, 2, 1, 2, 1};
    const AttrMap attrs = {{"strides", strides}, {"padding", padding}, {"ksize", window}};
    const Tensor x = numbers({2, 4, 3, 5, 2});
    const auto y = evaluate_op(*builtin_ops().find("MaxPool3D"), attrs, {x});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    check({.op = "MaxPool3DGrad", .inputs = {x, (*y)[0], numbers((*y)[0].shape(), 2)}, .attrs = attrs});
    check({.op = "MaxPool3DGradGrad",
           .inputs = {x, (*y)[0], numbers(x.shape(), 3)},
           .attrs = attrs,
           .check_gradient = false});
    check_gradients({.ops = {"MaxPool3DGradGrad"},
                     .at = {numbers(x.shape(), 3)},
                     .f = [&](Graph& g, const std::vector<Value>& d) -> std::vector<Value> {
                       return {g.add("MaxPool3DGradGrad", {constant(g, x), constant(g, (*y)[0]), d[0]}, attrs)};
                     },
                     .step = 1e-2,
                     .tolerance = 2e-3});
    check_gradients({.ops = {"MaxPool3DGrad"},
                     .at = {numbers((*y)[0].shape(), 2)},
                     .f =
                         [&](Graph& g, const std::vector<Value>& dy) {
                           const Value at = constant(g, x);
                           return gradients(g, {max_pool3d(at, window, strides, padding)}, {at}, {.grad_ys = {dy[0]}});
                         },
                     .step = 1e-2,
                     .tolerance = 2e-3});
  }
}

// Every op with channels second gives what it gives with channels last, turned.
TEST(Conv3dOps, ChannelsSecond) {
  const std::string why = "TensorFlow's CPU kernels take NDHWC only: held against that, transposed";
  const auto second = [](const Tensor& t) {
    Graph g;
    const auto out = evaluate(g, {}, {transpose(constant(g, t), {0, 4, 1, 2, 3}).endpoint()});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return (*out)[0];
  };
  const auto turned = [](Sizes v) { return Sizes{v[0], v[4], v[1], v[2], v[3]}; };
  // `volumes`: which operands are volumes; `sizes_at`: which one holds a volume's sizes.
  const auto same = [&](const std::string& op, AttrMap attrs, std::vector<Tensor> inputs,
                        std::vector<std::size_t> volumes, int sizes_at = -1, bool volume_out = true) {
    SCOPED_TRACE(op);
    auto expect = evaluate_op(*builtin_ops().find(op), attrs, inputs);
    ASSERT_TRUE(expect.ok()) << expect.status().to_string();
    for (const std::size_t i : volumes) inputs[i] = second(inputs[i]);
    if (sizes_at >= 0) {
      const auto s = inputs[static_cast<std::size_t>(sizes_at)].values<std::int32_t>();
      inputs[static_cast<std::size_t>(sizes_at)] = sizes({s[0], s[4], s[1], s[2], s[3]});
    }
    for (const char* name : {"strides", "dilations", "ksize"}) {
      if (const Sizes* v = attrs.find_as<Sizes>(name)) attrs.set(name, AttrValue(turned(*v)));
    }
    attrs.set("data_format", AttrValue(std::string("NCDHW")));
    check({.op = op,
           .inputs = inputs,
           .attrs = attrs,
           .expect = {volume_out ? second((*expect)[0]) : (*expect)[0]},
           .tolerance = 1e-4,
           .check_gradient = !op.starts_with("MaxPool3D"),  // float32 alone: above
           .unlike_tensorflow = why});
  };
  for (const char* padding : {"SAME", "VALID"}) {
    const Sizes strides = {1, 2, 1, 2, 1};
    const AttrMap conv = {{"strides", strides}, {"padding", padding}, {"dilations", Sizes{1, 1, 2, 1, 1}}};
    const Tensor x = numbers({2, 4, 3, 5, 2}), filter = numbers({2, 2, 3, 2, 3}, 2);
    const auto y = evaluate_op(*builtin_ops().find("Conv3D"), conv, {x, filter});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    const Tensor dy = numbers((*y)[0].shape(), 3);
    same("Conv3D", conv, {x, filter}, {0});
    same("Conv3DBackpropInputV2", conv, {sizes({2, 4, 3, 5, 2}), filter, dy}, {2}, 0);
    same("Conv3DBackpropFilterV2", conv, {x, sizes({2, 2, 3, 2, 3}), dy}, {0, 2}, -1, false);
    const AttrMap pool = {{"strides", strides}, {"padding", padding}, {"ksize", Sizes{1, 2, 2, 3, 1}}};
    const auto most = evaluate_op(*builtin_ops().find("MaxPool3D"), pool, {x});
    ASSERT_TRUE(most.ok()) << most.status().to_string();
    const Tensor back = numbers((*most)[0].shape(), 3);
    same("MaxPool3D", pool, {x}, {0});
    same("MaxPool3DGrad", pool, {x, (*most)[0], back}, {0, 1, 2});
    same("MaxPool3DGradGrad", pool, {x, (*most)[0], numbers(x.shape(), 4)}, {0, 1, 2});
    same("AvgPool3D", pool, {x}, {0});
    same("AvgPool3DGrad", pool, {sizes({2, 4, 3, 5, 2}), back}, {1}, 0);
  }
  check({.op = "MaxPool3D",
         .inputs = {numbers({0, 2, 4, 4, 4})},
         .attrs = {{"strides", Sizes{1, 1, 2, 2, 2}},
                   {"ksize", Sizes{1, 1, 2, 2, 2}},
                   {"padding", "VALID"},
                   {"data_format", "NCDHW"}},
         .expect = {Tensor::zeros(DType::kFloat32, {0, 2, 2, 2, 2})},
         .check_gradient = false,
         .unlike_tensorflow = why});
  check({.op = "AvgPool3D",
         .inputs = {numbers({1, 2, 4, 4, 4})},
         .attrs = {{"strides", Sizes{1, 1, 1, 1, 1}},
                   {"ksize", Sizes{1, 1, 2, 2, 2}},
                   {"padding", "VALID"},
                   {"data_format", "NDHWC"}},
         .error = Code::kInvalidArgument});
}

TEST(Conv3dOps, Dilation) {
  for (const char* padding : {"SAME", "VALID"}) {
    for (const Sizes& strides : {Sizes{1, 1, 1, 1}, Sizes{1, 2, 1, 1}}) {
      for (const Sizes& rates : {Sizes{1, 1, 1, 1}, Sizes{1, 1, 2, 1}}) {
        const AttrMap attrs = {{"strides", strides}, {"rates", rates}, {"padding", padding}};
        const Tensor x = numbers({2, 5, 6, 2}), filter = numbers({2, 3, 2}, 2);
        check({.op = "Dilation2D", .inputs = {x, filter}, .attrs = attrs});
        const std::int64_t reach = 2 * rates[2] + 1;
        const bool same = padding[0] == 'S';
        const std::int64_t rows = same ? (5 + strides[1] - 1) / strides[1] : 3 / strides[1] + 1;
        const Tensor dy = numbers({2, rows, same ? 6 : 6 - reach + 1, 2}, 3);
        check({.op = "Dilation2DBackpropInput", .inputs = {x, filter, dy}, .attrs = attrs, .other_dtypes = false});
        check({.op = "Dilation2DBackpropFilter", .inputs = {x, filter, dy}, .attrs = attrs, .other_dtypes = false});
      }
    }
  }
  const AttrMap plain = {{"strides", Sizes{1, 1, 1, 1}}, {"rates", Sizes{1, 1, 1, 1}}, {"padding", "VALID"}};
  // NaN is never the greatest, wherever in a window it stands.
  const Tensor x = Tensor::of<float>({1, 4, 1, 1}, {std::nanf(""), 1, std::nanf(""), 3});
  const Tensor filter = Tensor::of<float>({2, 1, 1}, {0, 0}), dy = Tensor::of<float>({1, 3, 1, 1}, {1, 2, 4});
  const auto of = [&](const char* op, std::vector<Tensor> inputs, Tensor expect) {
    check({.op = op,
           .inputs = inputs,
           .attrs = plain,
           .expect = {expect},
           .other_dtypes = false,
           .check_gradient = false});
  };
  of("Dilation2D", {x, filter}, Tensor::of<float>({1, 3, 1, 1}, {1, 1, 3}));
  of("Dilation2DBackpropInput", {x, filter, dy}, Tensor::of<float>({1, 4, 1, 1}, {0, 3, 0, 4}));
  of("Dilation2DBackpropFilter", {x, filter, dy}, Tensor::of<float>({2, 1, 1}, {2, 5}));
  check({.op = "Dilation2D",
         .inputs = {numbers({1, 3, 3, 2}), numbers({2, 2, 1})},
         .attrs = plain,
         .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
