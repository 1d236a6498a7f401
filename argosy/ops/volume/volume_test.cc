#include "argosy/ops/volume/volume.h"

#include <gtest/gtest.h>

#include "argosy/testing/gradient_case.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

using Sizes = std::vector<std::int64_t>;

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor sizes(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }

TEST(VolumeOps, Convolution) {
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

TEST(VolumeOps, Pooling) {
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

TEST(VolumeOps, Dilation) {
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
  check({.op = "Dilation2D",
         .inputs = {numbers({1, 3, 3, 2}), numbers({2, 2, 1})},
         .attrs = plain,
         .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
