#include "argosy/ops/tensor_array/tensor_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

class TensorArrays : public testing::Test {
 protected:
  Value number(std::int32_t n) { return constant(graph_, n); }
  Value numbers(std::initializer_list<float> v) { return constant(graph_, Tensor::vector<float>(v)); }
  Result<std::vector<Tensor>> run(std::vector<Value> values) {
    if (!graph_.status().ok()) return graph_.status();
    std::vector<Endpoint> fetches;
    for (const Value& v : values) fetches.push_back(v.endpoint());
    return evaluate(graph_, feeds_, fetches);
  }
  Graph graph_;
  std::unordered_map<Endpoint, Tensor> feeds_;
};

TEST_F(TensorArrays, WriteThenRead) {
  const auto empty = tensor_array(number(2), DType::kFloat32, {.element_shape = {2}});
  const auto a = tensor_array_write(empty, number(1), numbers({1, 2}));
  const Value read = tensor_array_read(a, number(1));
  EXPECT_EQ(read.shape().to_string(), "[2]");
  const auto out = run({read, tensor_array_size(a)});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({1, 2}), 0), "");
  EXPECT_EQ(*(*out)[1].data<std::int32_t>(), 2);
}

TEST_F(TensorArrays, RefuseWhatTensorFlowRefuses) {
  const auto a = tensor_array(number(2), DType::kFloat32);
  const auto written = tensor_array_write(a, number(0), numbers({1}));
  EXPECT_THAT(run({tensor_array_write(written, number(0), numbers({1})).flow}).status().message(),
              HasSubstr("already been written to"));
  EXPECT_THAT(run({tensor_array_write(a, number(2), numbers({1})).flow}).status().message(),
              HasSubstr("index 2 but array is not resizeable and size is: 2"));
  EXPECT_THAT(run({tensor_array_read(a, number(-1))}).status().message(), HasSubstr("index -1 but array size is: 2"));
  EXPECT_THAT(run({tensor_array_read(a, number(1))}).status().message(), HasSubstr("never written"));
  const Value once = tensor_array_read(written, number(0));
  Value twice;
  {
    const auto after = graph_.control_dependencies({once});
    twice = tensor_array_read(written, number(0));
  }
  EXPECT_THAT(run({once, twice}).status().message(), HasSubstr("Could not read index 0 twice"));
  EXPECT_EQ(run({tensor_array(number(-1), DType::kFloat32).handle}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(run({tensor_array(number(2147483647), DType::kFloat32).handle}).status().code(), Code::kResourceExhausted);
}

TEST_F(TensorArrays, GrowWhenAllowed) {
  const auto a =
      tensor_array_write(tensor_array(number(0), DType::kFloat32, {.dynamic_size = true}), number(3), numbers({1}));
  const auto out = run({tensor_array_size(a)});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(*(*out)[0].data<std::int32_t>(), 4);
}

TEST_F(TensorArrays, SplitAndConcat) {
  const auto a = tensor_array(number(2), DType::kFloat32);
  const Value flow = graph_.add("TensorArraySplitV3", {a.handle, numbers({1, 2, 3}),
                                                       constant(graph_, Tensor::vector<std::int64_t>({1, 2})), a.flow});
  const Value all = graph_.add("TensorArrayConcatV3", {a.handle, flow}, {{"dtype", DType::kFloat32}});
  const auto out = run({all, all.output(1)});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({1, 2, 3}), 0), "");
  EXPECT_EQ(difference((*out)[1], Tensor::vector<std::int64_t>({1, 2}), 0), "");
}

// y = x[0] * x[1], through an array; x[0] is read twice, so that its gradients add up.
TEST_F(TensorArrays, CarryGradients) {
  const Value x = placeholder(graph_, DType::kFloat32, {2, 1});
  const Value both = constant(graph_, Tensor::vector<std::int32_t>({0, 1}));
  const auto a = tensor_array_scatter(tensor_array(number(2), DType::kFloat32, {.clear_after_read = false}), both, x);
  const Value first = tensor_array_read(a, number(0));
  const Value y =
      graph_.add("Mul", {graph_.add("Mul", {first, tensor_array_read(a, number(0))}), tensor_array_read(a, number(1))});
  const auto dx = gradients(graph_, {y}, {x});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  feeds_[x.endpoint()] = Tensor::of<float>({2, 1}, {3, 5});
  const auto out = run({dx[0]});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<float>({2, 1}, {30, 9}), 1e-6), "");
}

TEST_F(TensorArrays, Stacks) {
  const Value stack = graph_.add("StackV2", {number(-1)}, {{"elem_type", DType::kFloat32}});
  const Value one = graph_.add("StackPushV2", {stack, numbers({1})});
  Value two, top;
  {
    const auto after = graph_.control_dependencies({one});
    two = graph_.add("StackPushV2", {stack, numbers({2})});
  }
  {
    const auto after = graph_.control_dependencies({two});
    top = graph_.add("StackPopV2", {stack}, {{"elem_type", DType::kFloat32}});
  }
  const auto out = run({top});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({2}), 0), "");
  const Value empty = graph_.add("StackV2", {number(0)}, {{"elem_type", DType::kFloat32}});
  EXPECT_THAT(run({graph_.add("StackPopV2", {empty}, {{"elem_type", DType::kFloat32}})}).status().message(),
              HasSubstr("nothing to pop"));
  EXPECT_THAT(run({graph_.add("StackPushV2", {empty, numbers({1})})}).status().message(), HasSubstr("overflowed"));
}

}  // namespace
}  // namespace argosy
