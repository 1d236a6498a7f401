#include "argosy/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"

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
  EXPECT_THAT(g.status().hint(), testing::HasSubstr("\"Mul\""));
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

TEST(Graph, TheOrderIsFoundAnewWhenAnEdgeLeadsBack) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {}), first = g.add("OnesLike", {x}), last = g.add("OnesLike", {x});
  const auto order = [&] { return g.topological_order().value(); };
  EXPECT_THAT(order(), testing::ElementsAre(x.node(), first.node(), last.node()));
  g.set_input(first.node(), 0, last.endpoint());
  EXPECT_THAT(order(), testing::ElementsAre(x.node(), last.node(), first.node()));
  // Kept in that order, the nodes are in order again.
  const auto moved = g.retain(order()).value();
  EXPECT_THAT(order(), testing::ElementsAre(NodeId{0}, NodeId{1}, NodeId{2}));
  g.add_control_input(moved[last.node().index], moved[first.node().index]);
  EXPECT_FALSE(g.topological_order().ok());
  g.remove_control_input(moved[last.node().index], moved[first.node().index]);
  EXPECT_THAT(order(), testing::ElementsAre(NodeId{0}, NodeId{1}, NodeId{2}));
}

TEST(Graph, KnowsWhoIsWaitedFor) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {}), y = g.add("OnesLike", {x}), z = g.add("OnesLike", {x});
  EXPECT_FALSE(g.may_be_waited_for(x.node()));
  g.add_control_input(z.node(), y.node());
  EXPECT_TRUE(g.may_be_waited_for(y.node()));
  EXPECT_FALSE(g.may_be_waited_for(z.node()));
  EXPECT_TRUE(g.clone().may_be_waited_for(y.node()));
  // The edge goes with the node that had it.
  const auto moved = g.retain({x.node(), y.node()}).value();
  EXPECT_FALSE(g.may_be_waited_for(moved[static_cast<std::size_t>(y.node().index)]));
}

TEST(Graph, KnowsItsOpsAndWhetherADeviceIsAskedFor) {
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {});
  const Value one = g.add("OnesLike", {x});
  EXPECT_THAT(g.ops_met(), testing::UnorderedElementsAre(ops.find("Source"), ops.find("OnesLike")));
  ASSERT_TRUE(g.replace_with(one.node(), "Opaque", {{x.endpoint()}}, {}, {{"T", DType::kFloat32}}).ok());
  EXPECT_THAT(g.ops_met(), testing::Contains(ops.find("Opaque")));
  EXPECT_FALSE(g.asks_for_devices());
  Graph copy(ops);
  ASSERT_TRUE(copy.add_copy(g, x.node(), {}, {}, false).ok());
  EXPECT_FALSE(copy.asks_for_devices());
  g.set_device(x.node(), "/gpu:0");
  EXPECT_TRUE(g.asks_for_devices());
  Graph other(ops);
  ASSERT_TRUE(other.add_copy(g, x.node(), {}, {}, false).ok());
  EXPECT_TRUE(other.asks_for_devices());
  EXPECT_THAT(other.ops_met(), testing::ElementsAre(ops.find("Source")));
}

TEST(Graph, NodesBesideOthersShareTheirAttributes) {
  using Strings = std::vector<std::string>;
  const OpRegistry ops = toy_ops();
  Graph g(ops);
  const Value x = g.add("Source", {}, {}, "x"), y = g.add("Source", {}, {}, "y");
  Value with_x, with_y, with_both;
  {
    const auto colocated = g.colocate_with(x);
    with_x = g.add("OnesLike", {x});
    with_both = g.add("OnesLike", {x}, {{"_class", Strings{"loc:@y", "mine", "loc:@x"}}});
  }
  {
    const auto colocated = g.colocate_with(y);
    with_y = g.add("OnesLike", {y});
  }
  const auto node = [&](const Value& v) -> const Node& { return g.node(v.node()); };
  EXPECT_THAT(node(with_x).colocation(), testing::ElementsAre("x"));
  EXPECT_THAT(node(with_y).colocation(), testing::ElementsAre("y"));
  EXPECT_THAT(node(with_both).colocation(), testing::ElementsAre("y", "x"));
  EXPECT_EQ(node(x).colocation().size(), 0u);
  EXPECT_EQ(node(with_x).attrs.begin(), node(with_y).attrs.begin());  // the same ones, not equal ones
  EXPECT_EQ(node(with_x).attributes().get<Strings>("_class"), Strings{"loc:@x"});
  EXPECT_EQ(node(with_both).attrs.get<Strings>("_class"), Strings{"mine"});
  EXPECT_EQ(node(with_both).attributes().get<Strings>("_class"), (Strings{"mine", "loc:@y", "loc:@x"}));
  Graph copy(ops);
  const Endpoint input{copy.add_copy(g, x.node(), {}, {}, false).value(), 0};
  const NodeId colocated = copy.add_copy(g, with_x.node(), {{input}}, {}, false).value();
  EXPECT_THAT(copy.node(colocated).colocation(), testing::ElementsAre("x"));
  copy.set_colocation(colocated, {});
  EXPECT_EQ(copy.node(colocated).attributes(), copy.node(colocated).attrs);
}

// Shapes that do not fit together in a branch fail a step that goes there, not the graph.
TEST(Graph, AShapeErrorBehindASwitchIsTheStepsThatGetThere) {
  OpRegistry ops = toy_ops();
  ops.add({.name = "Fed",
           .doc = "",
           .outputs = {"y: T"},
           .attrs = {"T: type = float", "shape: shape"},
           .shape =
               [](ShapeContext& c) {
                 c.set_output(0, c.attrs().get<PartialShape>("shape"));
                 return ok_status();
               },
           .gradient = kNotDifferentiable});
  ops.add({.name = "Switch",
           .doc = "",
           .inputs = {"x: T", "p: T"},
           .outputs = {"no: T", "yes: T"},
           .attrs = {"T: type = float"},
           .shape =
               [](ShapeContext& c) {
                 for (int i = 0; i < 2; ++i) c.set_output(i, c.input(0));
                 return ok_status();
               },
           .gradient = kNotDifferentiable,
           .flow = Flow::kSwitch});
  ops.add({.name = "_ShapeError",
           .doc = "",
           .inputs = {"inputs: Tin"},
           .outputs = {"outputs: Tout"},
           .attrs = {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "op: string", "code: int", "message: string",
                     "id: string = ''", "hint: string = ''"},
           .shape = unknown_output,
           .gradient = kNotDifferentiable});
  Graph g(ops);
  const auto fed = [&](PartialShape shape) { return g.add("Fed", {}, {{"shape", std::move(shape)}}); };
  const Value open = fed({-1}), two = fed({2}), three = fed({3});
  const Value chosen = g.add("Switch", {open, open}), in_branch = g.add("Mul", {chosen.output(1), two});
  const Value always = g.add("Mul", {open, two});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();

  Graph step(ops);
  const auto copy = [&](const Value& v, const std::vector<Endpoint>& inputs) {
    return step.add_copy(g, v.node(), inputs, {}, false);
  };
  const Endpoint other{copy(two, {}).value(), 0}, given{copy(three, {}).value(), 0};
  const NodeId branch = copy(chosen, {given, given}).value();
  const auto failing = copy(in_branch, {{branch, 1}, other});
  ASSERT_TRUE(failing.ok()) << failing.status().to_string();
  const Node& n = step.node(*failing);
  EXPECT_EQ(n.op->name, "_ShapeError");
  EXPECT_EQ(n.name, in_branch.node_name());
  EXPECT_EQ(n.attrs.get_string("op"), "Mul");
  EXPECT_EQ(n.inputs.size(), 2u) << "it is dead where the node is";
  EXPECT_FALSE(n.output_shapes[0].has_rank());
  const auto refused = copy(always, {given, other});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(n.attrs.get_string("message"), refused.status().message());
  // Of a client's graph it is an error, in a branch, too.
  g.add("Mul", {g.add("Switch", {three, three}).output(1), two});
  EXPECT_FALSE(g.status().ok());
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
