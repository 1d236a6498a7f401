#include "argosy/ops/constant/constant.h"

#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

TEST(ConstantOps, Cases) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  check({.op = "Identity", .inputs = {x}, .expect = {x}});
  check({.op = "ZerosLike", .inputs = {x}, .expect = {Tensor::of<float>({2, 2}, {0, 0, 0, 0})}});
  check({.op = "OnesLike", .inputs = {x}, .expect = {Tensor::of<float>({2, 2}, {1, 1, 1, 1})}});
  check({.op = "Fill",
         .inputs = {Tensor::vector<std::int32_t>({1, 3}), Tensor::scalar(2.5f)},
         .expect = {Tensor::of<float>({1, 3}, {2.5, 2.5, 2.5})}});
  check({.op = "Fill",
         .inputs = {Tensor::vector<std::int32_t>({-1}), Tensor::scalar(2.5f)},
         .error = Code::kInvalidArgument});
}

TEST(ConstantOps, AShapeErrorIsTheErrorOfItsNode) {
  check({.op = "_ShapeError",
         .inputs = {Tensor::of<float>({2}, {1, 2})},
         .attrs = {{"Tout", std::vector<DType>{DType::kFloat32}},
                   {"op", std::string("Squeeze")},
                   {"code", static_cast<std::int64_t>(Code::kInvalidArgument)},
                   {"message", std::string("Can not squeeze dim[0]")}},
         .error = Code::kInvalidArgument,
         .other_dtypes = false});
}

TEST(ConstantOps, ForwardTheirInput) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor words = Tensor::vector<std::string>({"a", ""});
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "DebugGradientIdentity"}) {
    check({.op = op, .inputs = {x}, .expect = {x}, .check_gradient = op[0] != 'P' && op[1] != 't'});
    check({.op = op, .inputs = {words}, .expect = {words}});
  }
  const Tensor numbers = Tensor::vector<std::int64_t>({1, 2, 3});
  check({.op = "IdentityN", .inputs = {x, numbers}, .expect = {x, numbers}});
  check_gradients({.ops = {"IdentityN"},
                   .at = {cast_to(x, DType::kFloat64), Tensor::scalar(3.0)},
                   .f = [](Graph& g, const auto& xs) {
                     const Value y = g.add("IdentityN", xs);
                     return std::vector<Value>{y, y.output(1)};
                   }});
  check({.op = "Const", .attrs = {{"value", x}, {"dtype", DType::kFloat32}}, .expect = {x}, .other_dtypes = false});
  check({.op = "NoOp"});
  check({.op = "FakeParam",
         .attrs = {{"dtype", DType::kFloat32}, {"shape", PartialShape{2, -1}}},
         .expect = {Tensor::zeros(DType::kFloat32, {2, 0})},
         .other_dtypes = false});
  check({.op = "PlaceholderWithDefault", .inputs = {x}, .attrs = {{"shape", PartialShape{-1, 2}}}, .expect = {x}});
  check({.op = "PlaceholderWithDefault",
         .inputs = {x},
         .attrs = {{"shape", PartialShape{3, 2}}},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "TensorFlow looks at its shape in graphs alone"});
}

TEST(ConstantOps, PlaceholderMustBeFed) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2});
  const Value y = identity(x);
  EXPECT_EQ(evaluate(g, {}, {y.endpoint()}).status().id(), "ARG-FEED-001");
  const auto out = evaluate(g, {{x.endpoint(), Tensor::vector<float>({1, 2})}}, {y.endpoint()});
  EXPECT_EQ(out->at(0).data<float>()[1], 2);
  const Value z = g.add("PlaceholderV2", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{2}}});
  EXPECT_EQ(evaluate(g, {}, {z.endpoint()}).status().id(), "ARG-FEED-001");
}

}  // namespace
}  // namespace argosy
