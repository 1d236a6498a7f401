#include "argosy/ops/fractional_pool/fractional_pool.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); }
Tensor counting(const Shape& shape) {
  Tensor x = Tensor::zeros(DType::kFloat32, shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = static_cast<float>(i);
  return x;
}
AttrMap attrs(float height, float width, bool pseudo_random = false, bool overlapping = false, std::int64_t seed = 7,
              std::int64_t seed2 = 0) {
  return {{"pooling_ratio", std::vector<float>{1, height, width, 1}},
          {"pseudo_random", pseudo_random},
          {"overlapping", overlapping},
          {"deterministic", true},
          {"seed", seed},
          {"seed2", seed2}};
}

TEST(FractionalPoolOps, TensorFlowsWindows) {
  check({.op = "FractionalAvgPool",
         .inputs = {counting({1, 7, 9, 1})},
         .attrs = attrs(1.44f, 1.73f),
         .expect = {Tensor::of<float>({1, 4, 5, 1}, {5,  6.5,  8,  10, 12, 23,   24.5, 26,   28,   30,
                                                     41, 42.5, 44, 46, 48, 54.5, 56,   57.5, 59.5, 61.5}),
                    ints({0, 2, 4, 6, 7}), ints({0, 2, 3, 5, 7, 9})},
         .other_dtypes = false,
         .check_gradient = false});
  const Tensor x = random_tensor(DType::kFloat32, {2, 7, 9, 3});
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"}) {
    for (const bool pseudo_random : {false, true}) {
      for (const bool overlapping : {false, true}) {
        for (const auto& [height, width] : {std::pair{1.44f, 1.73f}, {2.0f, 1.0f}, {1.3f, 3.2f}, {7.0f, 4.5f}}) {
          check({.op = op, .inputs = {x}, .attrs = attrs(height, width, pseudo_random, overlapping, 5, 9)});
        }
      }
    }
    check({.op = op,
           .inputs = {random_tensor(DType::kFloat32, {1, 60, 37, 1})},
           .attrs = attrs(1.21f, 1.9f, false, true, 3, 4),
           .check_gradient = false});
    check({.op = op,
           .inputs = {Tensor::of<std::int32_t>({1, 2, 3, 1}, {1, -2, 7, 4, 5, -6})},
           .attrs = attrs(1.5f, 1.5f),
           .other_dtypes = false});
  }
}

TEST(FractionalPoolOps, Gradients) {
  const Tensor x = Tensor::of<float>({1, 4, 4, 1}, {5, 8, 5, 0, 0, 1, 7, 6, 2, 4, 5, 2, 4, 2, 4, 7});
  const Tensor y = Tensor::of<float>({1, 2, 2, 1}, {8, 7, 5, 7}), dy = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  const Tensor places = ints({0, 2, 4}), shape = ints({1, 4, 4, 1});
  check({.op = "FractionalMaxPoolGrad",
         .inputs = {x, y, dy, places, places},
         .attrs = {{"overlapping", true}},
         .expect = {Tensor::of<float>({1, 4, 4, 1}, {0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 4})}});
  for (const bool overlapping : {false, true}) {
    check({.op = "FractionalAvgPoolGrad",
           .inputs = {shape, dy, places, places},
           .attrs = {{"overlapping", overlapping}}});
  }
  for (const bool overlapping : {false, true}) {  // an end before the input's
    check({.op = "FractionalAvgPoolGrad",
           .inputs = {shape, dy, ints({0, 1, 3}), ints({0, 2, 9})},
           .attrs = {{"overlapping", overlapping}}});
  }
}

TEST(FractionalPoolOps, Refusals) {
  const Tensor x = random_tensor(DType::kFloat32, {1, 4, 4, 1}), four = Tensor::zeros(DType::kFloat32, {1, 2, 2, 1});
  const Tensor places = ints({0, 2, 4}), shape = ints({1, 4, 4, 1});
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"}) {
    const auto refuses = [&](const Tensor& value, const AttrMap& a, Code code = Code::kInvalidArgument) {
      check({.op = op, .inputs = {value}, .attrs = a, .error = code});
    };
    refuses(x, attrs(0.5f, 1));
    refuses(x, attrs(5, 1));
    refuses(random_tensor(DType::kFloat32, {4, 4, 1}), attrs(2, 2));
    refuses(Tensor::zeros(DType::kFloat32, {0, 4, 4, 1}), attrs(2, 2));
    refuses(x, {{"pooling_ratio", std::vector<float>{1, 1, 1, 1}}, {"seed", 3}});
    refuses(x, {{"pooling_ratio", std::vector<float>{1, 1, 1, 1, 1}}});
    refuses(x, {{"pooling_ratio", std::vector<float>{1, 1, 1, 1.5f}}}, Code::kUnimplemented);
  }
  const auto refuses = [](const char* op, const std::vector<Tensor>& inputs) {
    check({.op = op, .inputs = inputs, .error = Code::kInvalidArgument});
  };
  refuses("FractionalMaxPoolGrad", {x, four, four, places, places});  // not what x gives
  refuses("FractionalMaxPoolGrad", {x, four, four, ints({0, 4}), places});
  refuses("FractionalMaxPoolGrad", {x, four, four, Tensor::of<std::int64_t>({1, 3}, {0, 2, 4}), places});
  refuses("FractionalAvgPoolGrad", {shape, four, ints({-1, 2, 4}), places});
  refuses("FractionalAvgPoolGrad", {shape, four, ints({0, 4}), places});
  refuses("FractionalAvgPoolGrad", {ints({1, 0, 4, 1}), four, places, places});
  refuses("FractionalAvgPoolGrad", {ints({1, 4, 4}), four, places, places});
}

}  // namespace
}  // namespace argosy
