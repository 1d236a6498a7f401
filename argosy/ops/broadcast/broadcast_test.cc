#include "argosy/ops/broadcast/broadcast.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }

TEST(BroadcastOps, BroadcastTo) {
  check({.op = "BroadcastTo",
         .inputs = {Tensor::of<float>({2, 1}, {1, 2}), ints({2, 3})},
         .expect = {Tensor::of<float>({2, 3}, {1, 1, 1, 2, 2, 2})}});
  check({.op = "BroadcastTo",
         .inputs = {Tensor::vector<float>({1, 2}), ints({3, 1, 2})},
         .expect = {Tensor::of<float>({3, 1, 2}, {1, 2, 1, 2, 1, 2})}});
  check({.op = "BroadcastTo", .inputs = {Tensor::scalar(7.0f), ints({2, 2})}});
  check({.op = "BroadcastTo", .inputs = {Tensor::scalar(7.0f), Tensor::zeros(DType::kInt32, {0})}});
  check({.op = "BroadcastTo", .inputs = {Tensor::scalar(7.0f), ints({2, 0})}});
  check({.op = "BroadcastTo", .inputs = {Tensor::vector<float>({1, 2}), ints({2})}});
  check({.op = "BroadcastTo", .inputs = {random_tensor(DType::kFloat32, {2, 1, 3, 1}), ints({2, 4, 3, 5})}});
  check({.op = "BroadcastTo",
         .inputs = {Tensor::scalar("ab"), ints({2})},
         .expect = {Tensor::vector<std::string>({"ab", "ab"})}});
  check({.op = "BroadcastTo", .inputs = {Tensor::vector<float>({1, 2}), ints({3})}, .error = Code::kInvalidArgument});
  check({.op = "BroadcastTo", .inputs = {Tensor::vector<float>({1, 2}), ints({1})}, .error = Code::kInvalidArgument});
  check(
      {.op = "BroadcastTo", .inputs = {Tensor::of<float>({1, 2}, {1, 2}), ints({2})}, .error = Code::kInvalidArgument});
  check({.op = "BroadcastTo", .inputs = {Tensor::scalar(1.0f), ints({-1})}, .error = Code::kInvalidArgument});
  check({.op = "BroadcastTo",
         .inputs = {Tensor::scalar(1.0f), Tensor::vector<std::int64_t>({1ll << 40, 1ll << 40})},
         .error = Code::kInvalidArgument});
}

TEST(BroadcastOps, GradientArguments) {
  const auto is = [](std::initializer_list<std::int32_t> x, std::initializer_list<std::int32_t> y, Tensor rx,
                     Tensor ry) {
    check({.op = "BroadcastGradientArgs", .inputs = {ints(x), ints(y)}, .expect = {std::move(rx), std::move(ry)}});
  };
  is({2, 3}, {3}, ints({}), ints({0}));
  is({2, 1}, {2, 3}, ints({1}), ints({}));
  is({2, 3}, {2, 3}, ints({}), ints({}));
  is({1, 3}, {1, 3}, ints({}), ints({}));
  is({1, 3}, {1, 1}, ints({0}), ints({0, 1}));
  is({}, {4, 5}, ints({0, 1}), ints({}));
  is({2, 1, 4}, {3, 1}, ints({1}), ints({0, 2}));
  is({0, 3}, {1, 3}, ints({}), ints({0}));
  is({1}, {1, 1}, ints({0, 1}), ints({0, 1}));
  check({.op = "BroadcastGradientArgs", .inputs = {ints({2}), ints({3})}, .error = Code::kInvalidArgument});
  check({.op = "BroadcastGradientArgs", .inputs = {Tensor::scalar(2), ints({3})}, .error = Code::kInvalidArgument});
  check({.op = "BroadcastArgs", .inputs = {ints({2, 1}), ints({3})}, .expect = {ints({2, 3})}});
  check({.op = "BroadcastArgs", .inputs = {ints({2, 1}), ints({2, 1})}, .expect = {ints({2, 1})}});
  check({.op = "BroadcastArgs", .inputs = {ints({2, 2}), ints({3})}, .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
