// tf.add_n([a, b, a]) gave [8, 14, 20] for [6, 11, 16]: an operand was read after the sum had been written over it.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

const Tensor kX = Tensor::vector<float>({1, 2, 3}), kY = Tensor::vector<float>({4, 7, 10});

// A graph on one device whose values are the step's own: what is fed goes through a node, and what is fetched too.
struct OnDevice {
  Graph graph;
  Feeds feeds;

  Value computed(const Tensor& t) {
    const Value fed = placeholder(graph, t.dtype(), PartialShape(t.shape()));
    feeds.push_back({fed, t});
    return graph.add("Neg", {graph.add("Neg", {fed})});
  }
  Value ints(std::initializer_list<std::int32_t> values) {
    return constant(graph, Tensor::vector<std::int32_t>(values));
  }

  Tensor run(const Value& y, bool optimize = false) {
    const Value read = graph.add("Pack", {y}).output(0);
    EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph, {.devices = {.emulate = "1"}, .optimize = optimize, .trace_path = ""});
    const auto out = session.run(feeds, {read});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? (*out)[0].reshaped((*out)[0].shape().rank() == 2 ? Shape{(*out)[0].shape()[1]} : Shape{})
                    : Tensor();
  }
};

void expect(const Tensor& got, std::initializer_list<float> wanted) {
  EXPECT_EQ(difference(got, Tensor::vector<float>(wanted), 0), "");
}

TEST(Issue31Aliased, AddN) {
  for (const char* const device : {"/cpu:0", "/gpu:0"}) {
    for (const bool optimize : {false, true}) {
      OnDevice g;
      const auto on = g.graph.device(device);
      const Value a = g.computed(kX), b = g.computed(kY);
      expect(g.run(g.graph.add("AddN", {a, b, a}), optimize), {6, 11, 16});
      OnDevice h;
      const auto there = h.graph.device(device);
      const Value v = h.computed(kX);
      expect(h.run(h.graph.add("AddN", {v, v, v}), optimize), {3, 6, 9});
    }
  }
}

TEST(Issue31Aliased, NodesThatAreMerged) {
  OnDevice g;
  const Value v = g.computed(kX), b = g.computed(kY);
  const auto loss = [&](const Value& of) { return g.graph.add("L2Loss", {of}); };
  const Value sum = g.graph.add("AddN", {loss(v), loss(b), loss(v), loss(v)});
  EXPECT_EQ(difference(g.run(sum, true), Tensor::scalar(7.0f * 3 + 82.5f), 0), "");
}

TEST(Issue31Aliased, TensorScatterOfItself) {
  OnDevice g;
  const Value v = g.computed(kX);
  const Value at = g.graph.add("Reshape", {g.ints({1, 0, 2}), g.ints({3, 1})});
  expect(g.run(g.graph.add("TensorScatterSub", {v, at, v})), {-1, 1, 0});
}

TEST(Issue31Aliased, SliceOfItselfShifted) {
  OnDevice g;
  const Value v = g.computed(kX);
  const Value tail = g.graph.add("Reshape", {v, g.ints({3})});
  const Value y = g.graph.add("TensorStridedSliceUpdate", {v, g.ints({2}), g.ints({-4}), g.ints({-1}), tail},
                              {{"end_mask", std::int64_t{1}}});
  expect(g.run(y), {3, 2, 1});
}

// What reads an operand twice at the same place may still write over it: the plan of one value is enough.
TEST(Issue31Aliased, ElementwiseOpsStayInPlace) {
  constexpr std::int64_t kN = 4096;
  const auto planned = [](const char* op, bool twice) {
    Graph graph;
    const Value fed = placeholder(graph, DType::kFloat32, {kN});
    const Value x = graph.add("Neg", {fed});
    const Value y = twice ? graph.add(op, {x, x}) : graph.add(op, {x});
    const Value last = graph.add("Sum", {y, constant(graph, 0)});
    TestSession session(graph, {.devices = {.devices = "cpu:0"}, .optimize = false, .trace_path = ""});
    const auto forecast = session.forecast({{fed, Shape{kN}}}, {last}, {});
    EXPECT_TRUE(forecast.ok()) << forecast.status().to_string();
    return forecast.ok() ? (*forecast)[0].arena_bytes : 0;
  };
  EXPECT_EQ(planned("Mul", true), planned("Exp", false));
  EXPECT_EQ(planned("AddV2", true), planned("Exp", false));
  EXPECT_EQ(planned("AddN", true), 2 * planned("Exp", false));  // of many inputs, one after another
}

// An op that hands its input on where there is nothing to do. What is fetched must not be memory that the plan gave to
// a later value.
TEST(Issue31Aliased, ForwardedValuesOutliveTheirPlace) {
  for (const char* const device : {"/cpu:0", "/gpu:0"}) {
    Graph graph;
    const auto on = graph.device(device);
    const Value fed = placeholder(graph, DType::kFloat32, {3});
    const Value shape = placeholder(graph, DType::kInt32, {1});
    const Value x = graph.add("Exp", {fed});
    const Value whole = graph.add("BroadcastTo", {x, shape});
    const Value alone = graph.add("AddN", {graph.add("Exp", {fed})});
    const Value same = graph.add("Cast", {graph.add("Exp", {fed})}, {{"DstT", DType::kFloat32}});
    const Value many = graph.add("IdentityN", {graph.add("Exp", {fed}), graph.add("Exp", {fed})}).output(1);
    Value later = fed;
    {
      const auto then = graph.control_dependencies({whole, alone, same, many});
      for (int i = 0; i < 8; ++i) later = graph.add("Sub", {graph.add("Mul", {later, fed}), graph.add("Sin", {later})});
    }
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    TestSession session(graph, {.devices = {.emulate = "1"}, .optimize = false, .trace_path = ""});
    const auto out =
        session.run({{fed, kX}, {shape, Tensor::vector<std::int32_t>({3})}}, {x, whole, alone, same, many, later});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (const int i : {1, 2, 3, 4}) EXPECT_EQ(difference((*out)[i], (*out)[0], 0), "") << i << " on " << device;
    const auto alone_out =
        session.run({{fed, kX}, {shape, Tensor::vector<std::int32_t>({3})}}, {whole, alone, same, many, later});
    ASSERT_TRUE(alone_out.ok()) << alone_out.status().to_string();
    for (const int i : {0, 1, 2, 3}) EXPECT_EQ(difference((*alone_out)[i], (*out)[0], 0), "") << i << " on " << device;
  }
}

}  // namespace
}  // namespace argosy
