#include "argosy/ops/tensor_array/tensor_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

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

// The shape that is said of the elements' rows: of nothing it is the result's, and what has another one is refused.
TEST_F(TensorArrays, ConcatHoldsToTheShapeSaidOfIt) {
  const auto joined = [&](const TensorArrayValue& a, const PartialShape& rest) {
    return run({graph_.add("TensorArrayConcatV3", {a.handle, a.flow},
                           {{"dtype", DType::kFloat32}, {"element_shape_except0", rest}})});
  };
  const auto none = tensor_array(number(0), DType::kFloat32);
  const auto nothing = joined(none, {3});
  ASSERT_TRUE(nothing.ok()) << nothing.status().to_string();
  EXPECT_EQ((*nothing)[0].shape(), Shape({0, 3}));
  EXPECT_EQ(joined(none, {PartialShape::kUnknown}).status().code(), Code::kUnimplemented);
  const auto one = tensor_array_write(tensor_array(number(1), DType::kFloat32), number(0), numbers({1, 2}));
  EXPECT_TRUE(joined(one, PartialShape::scalar()).ok());
  EXPECT_EQ(joined(one, {4}).status().code(), Code::kInvalidArgument);
}

// Elements that are read twice, so that their gradients add up.
TEST(TensorArrayGradients, ReadsWritesRows) {
  check_gradients({.ops = {"TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3", "TensorArrayScatterV3"},
                   .at = {Tensor::of<double>({2, 1}, {3, 5}), Tensor::vector<double>({0.5})},
                   .f = [](Graph& g, const std::vector<Value>& x) {
                     const auto at = [&](std::int32_t i) { return constant(g, i); };
                     const Value two = constant(g, Tensor::vector<std::int32_t>({2, 0}));
                     const TensorArrayOptions keep = {.element_shape = {1}, .clear_after_read = false};
                     auto a = tensor_array_scatter(tensor_array(at(3), DType::kFloat64, keep), two, x[0]);
                     a = tensor_array_write(a, at(1), x[1]);
                     const Value first = tensor_array_read(a, at(0));
                     const Value product = g.add("Mul", {g.add("Mul", {first, tensor_array_read(a, at(0))}), x[1]});
                     const Value rows = tensor_array_gather(a, constant(g, Tensor::vector<std::int32_t>({0, 1, 2})));
                     return std::vector<Value>{product, g.add("Mul", {rows, rows})};
                   }});
}

TEST(TensorArrayGradients, PiecesOfUnlikeLength) {
  check_gradients({.ops = {"TensorArraySplitV3", "TensorArrayConcatV3"},
                   .at = {Tensor::vector<double>({3, 5, -2})},
                   .f = [](Graph& g, const std::vector<Value>& x) {
                     const auto a = tensor_array(constant(g, std::int32_t{2}), DType::kFloat64);
                     const Value lengths = constant(g, Tensor::vector<std::int64_t>({1, 2}));
                     const Value flow = g.add("TensorArraySplitV3", {a.handle, x[0], lengths, a.flow});
                     const Value all = g.add("TensorArrayConcatV3", {a.handle, flow}, {{"dtype", DType::kFloat64}});
                     return std::vector<Value>{g.add("Mul", {all, all})};
                   }});
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

TEST_F(TensorArrays, StacksByReference) {
  const Value stack = graph_.add("Stack", {}, {{"elem_type", DType::kFloat32}});
  const Value in = graph_.add("StackPush", {stack, numbers({1, 2})});
  Value out, closed;
  {
    const auto after = graph_.control_dependencies({in});
    out = graph_.add("StackPop", {stack}, {{"elem_type", DType::kFloat32}});
  }
  {
    const auto after = graph_.control_dependencies({out});
    closed = graph_.add("StackClose", {stack});
  }
  const auto values = run({out, closed});
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  EXPECT_EQ(difference((*values)[0], Tensor::vector<float>({1, 2}), 0), "");
}

// Nothing flows into element 1: zeros of the shape that the element itself had, although no shape was said of the
// array.
TEST_F(TensorArrays, GradientsThatNobodyWroteAreZeros) {
  const auto a = tensor_array(number(2), DType::kFloat32);
  const Value rows = constant(graph_, Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Value lengths = constant(graph_, Tensor::vector<std::int64_t>({1, 2}));
  const Value filled = graph_.add("TensorArraySplitV3", {a.handle, rows, lengths, a.flow});
  const Value array = graph_.add("TensorArrayGradV3", {a.handle, filled}, {{"source", "s"}});
  const Value dy = constant(graph_, Tensor::of<float>({1, 2}, {7, 8}));
  const Value written = graph_.add("TensorArrayWriteV3", {array.output(0), number(0), dy, array.output(1)});
  const auto out = run({graph_.add("TensorArrayConcatV3", {array.output(0), written}, {{"dtype", DType::kFloat32}})});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<float>({3, 2}, {7, 8, 0, 0, 0, 0}), 0), "");
}

TEST_F(TensorArrays, GradientsWithMoreAxes) {
  const auto a = tensor_array_write(tensor_array(number(1), DType::kFloat32), number(0), numbers({1, 2}));
  const Value outer = constant(graph_, Tensor::vector<std::int32_t>({3}));
  const Value array = graph_.add("TensorArrayGradWithShape", {a.handle, a.flow, outer}, {{"source", "s"}});
  const auto out = run(
      {graph_.add("TensorArrayReadV3", {array.output(0), number(0), array.output(1)}, {{"dtype", DType::kFloat32}})});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::zeros(DType::kFloat32, {3, 2}), 0), "");
}

// Versions 1 and 2, whose handles are references and names.
TEST(OldTensorArrays, DoAsTheNewOnes) {
  for (const std::string v : {"", "V2"}) {
    Graph graph;
    const auto integer = [&](std::int32_t n) { return constant(graph, n); };
    const auto floats = [&](std::initializer_list<float> f) { return constant(graph, Tensor::vector<float>(f)); };
    const Value a = graph.add("TensorArray" + v, {integer(2)}, {{"dtype", DType::kFloat32}});
    const Value none = constant(graph, 0.0f);
    const Value rows = constant(graph, Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
    const Value both = constant(graph, Tensor::vector<std::int32_t>({1, 0}));
    const AttrMap dtype = {{"dtype", DType::kFloat32}};
    const Value flow = graph.add("TensorArrayScatter" + v, {a, both, rows, none});
    const Value back =
        graph.add("TensorArrayGather" + v, {a, constant(graph, Tensor::vector<std::int32_t>({0})), flow}, dtype);
    const Value size = graph.add("TensorArraySize" + v, {a, flow});
    const Value gradient = graph.add("TensorArrayGrad" + v, {a, flow}, {{"source", "s"}});
    const Value written = graph.add("TensorArrayWrite" + v, {gradient, integer(0), floats({5, 6}), none});
    const Value sum = graph.add("TensorArrayRead" + v, {gradient, integer(0), written}, dtype);
    const Value b = graph.add("TensorArray" + v, {integer(2)}, {{"dtype", DType::kFloat32}}, "b");
    const Value lengths = constant(graph, Tensor::vector<std::int64_t>({0, 2}));
    const Value split = graph.add("TensorArraySplit" + v, {b, rows, lengths, none});
    const Value joined = graph.add("TensorArrayConcat" + v, {b, split}, dtype);
    Value closed;
    {
      const auto after = graph.control_dependencies({joined});
      closed = graph.add("TensorArrayClose" + v, {b});
    }
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    std::vector<Endpoint> fetches;
    for (const Value& y : {back, size, sum, joined, closed}) fetches.push_back(y.endpoint());
    const auto out = evaluate(graph, {}, fetches);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(difference((*out)[0], Tensor::of<float>({1, 2}, {3, 4}), 0), "");
    EXPECT_EQ(*(*out)[1].data<std::int32_t>(), 2);
    EXPECT_EQ(difference((*out)[2], Tensor::vector<float>({5, 6}), 0), "");
    EXPECT_EQ(difference((*out)[3], Tensor::of<float>({2, 2}, {1, 2, 3, 4}), 0), "");
  }
}

TEST_F(TensorArrays, ByNamesThatAreNone) {
  const Value none = constant(graph_, Tensor::vector<std::string>({"a", "b"}));
  const Value size = graph_.add("TensorArraySizeV2", {none, constant(graph_, 0.0f)});
  EXPECT_EQ(run({size}).status().code(), Code::kNotFound);
  const Value one =
      graph_.add("TensorArraySizeV2", {constant(graph_, Tensor::vector<std::string>({"a"})), constant(graph_, 0.0f)});
  EXPECT_EQ(run({one}).status().code(), Code::kInvalidArgument);
}

TEST_F(TensorArrays, AreClosedForGood) {
  const auto a = tensor_array(number(2), DType::kFloat32);
  const Value stack = graph_.add("StackV2", {number(-1)}, {{"elem_type", DType::kFloat32}});
  const Value both =
      graph_.add("NoOp", {graph_.add("TensorArrayCloseV3", {a.handle}), graph_.add("StackCloseV2", {stack})});
  const auto after = graph_.control_dependencies({both});
  EXPECT_THAT(run({tensor_array_size(a)}).status().message(), HasSubstr("already been closed"));
  EXPECT_THAT(run({graph_.add("StackPushV2", {stack, numbers({1})})}).status().message(), HasSubstr("closed"));
}

}  // namespace
}  // namespace argosy
