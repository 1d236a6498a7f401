#include "argosy/ops/constant/constant.h"

#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

TEST(ConstantOps, Cases) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  check({.op = "Identity", .inputs = {x}, .expect = {x}});
  check({.op = "ZerosLike", .inputs = {x}, .expect = {Tensor::of<float>({2, 2}, {0, 0, 0, 0})}});
  check({.op = "OnesLike", .inputs = {x}, .expect = {Tensor::of<float>({2, 2}, {1, 1, 1, 1})}});
  check({.op = "Fill",
         .inputs = {Tensor::vector<std::int32_t>({1, 3}), Tensor::scalar(2.5f)},
         .expect = {Tensor::of<float>({1, 3}, {2.5, 2.5, 2.5})},
         .check_gradient = false});
  check({.op = "Fill",
         .inputs = {Tensor::vector<std::int32_t>({-1}), Tensor::scalar(2.5f)},
         .error = Code::kInvalidArgument});
}

TEST(ConstantOps, PlaceholderMustBeFed) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2});
  const Value y = identity(x);
  EXPECT_EQ(evaluate(g, {}, {y.endpoint()}).status().id(), "ARG-FEED-001");
  const auto out = evaluate(g, {{x.endpoint(), Tensor::vector<float>({1, 2})}}, {y.endpoint()});
  EXPECT_EQ(out->at(0).data<float>()[1], 2);
}

}  // namespace
}  // namespace argosy
