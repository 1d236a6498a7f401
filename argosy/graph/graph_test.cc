#include "argosy/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/op/shape_context.h"

namespace argosy {
namespace {

// Toy ops: Source -> x, Mul(x, y), Opaque(x) without a gradient.
std::vector<Value> mul_gradient(GradContext& g) {
  return {g.graph().add("Mul", {g.dy(), g.x(1)}), g.graph().add("Mul", {g.dy(), g.x(0)})};
}
OpRegistry toy_ops() {
  OpRegistry ops;
  const std::vector<std::string> t = {"T: type = float"};
  ops.add({.name = "Source",
           .doc = "",
           .outputs = {"y: T"},
           .attrs = t,
           .shape = unknown_output,
           .gradient = kNotDifferentiable});
  ops.add({.name = "Mul",
           .doc = "",
           .inputs = {"x: T", "y: T"},
           .outputs = {"z: T"},
           .attrs = t,
           .shape = broadcast_inputs,
           .gradient = mul_gradient});
  ops.add({.name = "AddN",
           .doc = "",
           .inputs = {"xs: N * T"},
           .outputs = {"y: T"},
           .attrs = {"N: int >= 1", "T: type"},
           .shape = merged_inputs,
           .gradient = kNotDifferentiable});
  ops.add({.name = "OnesLike",
           .doc = "",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = t,
           .shape = same_as_input,
           .gradient = kNotDifferentiable});
  ops.add({.name = "Opaque",
           .doc = "",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = t,
           .shape = same_as_input,
           .gradient = kNotDifferentiable});
  return ops;
}

TEST(Graph, NamesAreUniqueAndScoped) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  EXPECT_EQ(g.add("Source", {}, {}, "x").name(), "x:0");
  EXPECT_EQ(g.add("Source", {}, {}, "x").name(), "x_1:0");
  {
    const auto scope = g.name_scope("a");
    EXPECT_EQ(g.add("Source", {}, {}, "x").name(), "a/x:0");
  }
  const auto again = g.name_scope("a");
  EXPECT_EQ(g.add("Source", {}).name(), "a_1/Source:0");
}

TEST(Graph, FirstErrorSticks) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {});
  const Value bad = g.add("Mull", {x, x});
  EXPECT_FALSE(bad.valid());
  g.add("Nonsense", {bad});
  EXPECT_THAT(g.status().to_string(), testing::HasSubstr("there is no op \"Mull\""));
  EXPECT_THAT(g.status().next(), testing::HasSubstr("\"Mul\""));
}

TEST(Graph, DeviceScopesNestAndEnd) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const auto outer = g.device("/job:worker");
  Value x;
  {
    const auto inner = g.device("/gpu:1");
    x = g.add("Source", {});
  }
  const Value y = g.add("Source", {});
  EXPECT_EQ(g.node(x.node()).device, "/job:worker;/gpu:1");
  EXPECT_EQ(g.node(y.node()).device, "/job:worker");
}

TEST(Graph, FindsCycles) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {});
  const Value a = g.add("Mul", {x, x}, {}, "a");
  const Value b = g.add("Mul", {a, x}, {}, "b");
  g.set_input(a.node(), 0, b.endpoint());
  EXPECT_THAT(g.topological_order().status().message(), testing::HasSubstr("cycle through node 'b'"));
}

//  x ──► sq = x*x ──► y = sq*x        dy/dx = sq·1 + 2·x·x : three contributions, one AddN
std::vector<std::string> names_in_order(const Graph& g) {
  std::vector<std::string> names;
  const auto order = g.topological_order();
  EXPECT_TRUE(order.ok()) << order.status().to_string();
  for (const NodeId id : order.value_or({})) names.push_back(g.node(id).name);
  return names;
}

// As passes leave a graph: what replaces a node stands at the end.
TEST(Graph, TheOrderIsThatOfBuildingWithWhatIsNeededDrawnForward) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const auto source = [&](const char* name) { return g.add("Source", {}, {}, name); };
  const auto square = [&](const char* name, Value x) { return g.add("Mul", {x, x}, {}, name); };
  const auto read = [&](Value reader, Value x) {
    for (const int i : {0, 1}) g.set_input(reader.node(), i, x.endpoint());
  };
  const Value a = source("a"), b = square("b", a), c = square("c", a), d = square("d", c);
  source("end");
  EXPECT_THAT(names_in_order(g), testing::ElementsAre("a", "b", "c", "d", "end"));
  read(b, square("of_b", a));
  read(d, square("of_d", c));
  EXPECT_THAT(names_in_order(g), testing::ElementsAre("a", "of_b", "b", "c", "of_d", "d", "end"));
  // One that waits for many: they come in their own order, not in that in which it names them.
  const Value first = square("first", a), second = square("second", first), third = square("third", a);
  for (const Value v : {third, second}) g.add_control_input(c.node(), v.node());
  EXPECT_THAT(names_in_order(g),
              testing::ElementsAre("a", "of_b", "b", "first", "second", "third", "c", "of_d", "d", "end"));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
}

TEST(Gradients, SumsEveryUse) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {}, {}, "x");
  const Value sq = g.add("Mul", {x, x}, {}, "sq");
  const Value y = g.add("Mul", {sq, x}, {}, "y");
  const auto dx = gradients(g, {y}, {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const Node& sum = g.node(dx[0].node());
  EXPECT_EQ(sum.op->name, "AddN");
  EXPECT_EQ(sum.inputs.size(), 3u);
}

TEST(Gradients, MissingGradientNamesThePath) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value w = g.add("Source", {}, {}, "w");
  const Value h = g.add("Opaque", {w}, {}, "h");
  const Value loss = g.add("Mul", {h, h}, {}, "loss");
  gradients(g, {loss}, {w});
  EXPECT_EQ(g.status().id(), "ARG-GRAD-002");
  EXPECT_THAT(g.status().message(), testing::HasSubstr("loss <- h <- w"));
}

}  // namespace
}  // namespace argosy
