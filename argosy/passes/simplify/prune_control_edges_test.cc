#include "argosy/passes/simplify/prune_control_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

std::vector<std::string> names_of(const Graph& g) {
  std::vector<std::string> names;
  for (const Node& n : g.nodes()) names.push_back(n.name);
  return names;
}

std::vector<std::string> controls_of(const StepGraph& step, std::string_view node) {
  std::vector<std::string> names;
  for (const NodeId c : step.graph.node(*step.graph.find(node)).controls) names.push_back(step.graph.node(c).name);
  return names;
}

StepGraph relaxed(const Graph& g, const StepSignature& signature) {
  EXPECT_TRUE(g.status().ok()) << g.status().to_string();
  auto step = prune_step(g, signature);
  EXPECT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_TRUE(prune_control_edges(*step).ok());
  EXPECT_TRUE(remove_unused_nodes(*step).ok());
  return *std::move(step);
}

//  x, dy ─► dw ─► Identity ┄ waits for both ─► update
//  w, dy ─► dx ─► (nobody)
TEST(PruneControlEdges, AGradientNobodyReadsGoes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2, 2}, "x");
  const Value w = g.add("ReadVariableOp",
                        {g.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{2, 2}}}, "v")},
                        {{"dtype", DType::kFloat32}}, "w");
  const Value dy = g.add("Tanh", {matmul(x, w)}, {}, "dy");
  const Value dx = matmul(dy, w);
  const Value dw = matmul(x, dy);
  const Value taken = with_dependencies({dx, dw}, dw, "taken");
  const StepGraph step =
      relaxed(g, {.feeds = {x.endpoint()}, .feed_shapes = {Shape{2, 2}}, .fetches = {taken.endpoint()}});
  EXPECT_THAT(names_of(step.graph), testing::Not(testing::Contains(dx.node_name())));
  EXPECT_THAT(names_of(step.graph), testing::Contains(dw.node_name()));
  EXPECT_THAT(controls_of(step, "taken"), testing::IsEmpty());
}

TEST(PruneControlEdges, EffectsStillComeFirst) {
  Graph g;
  const Value handle = g.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{}}}, "v");
  const Value one = constant(g, 1.0f);
  const Value add = g.add("AssignAddVariableOp", {handle, one}, {{"dtype", DType::kFloat32}}, "add");
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  // Waited for by way of a node that only orders: the effect behind it is what matters.
  const Value between = with_dependencies({add.control()}, g.add("Neg", {x}, {}, "neg"), "between");
  const Value y = with_dependencies({between}, x, "y");
  const StepGraph step = relaxed(g, {.feeds = {x.endpoint()}, .feed_shapes = {Shape{}}, .fetches = {y.endpoint()}});
  EXPECT_THAT(names_of(step.graph), testing::Contains("add"));
  EXPECT_THAT(controls_of(step, "y"), testing::Contains("add"));
  EXPECT_THAT(names_of(step.graph), testing::Not(testing::Contains("neg")));
}

TEST(PruneControlEdges, WhatIsFetchedOrATargetStays) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const Value a = g.add("Neg", {x}, {}, "a"), b = g.add("Exp", {x}, {}, "b");
  const Value y = with_dependencies({a, b}, x, "y");
  const StepGraph step = relaxed(g, {.feeds = {x.endpoint()},
                                     .feed_shapes = {Shape{}},
                                     .fetches = {y.endpoint(), a.endpoint()},
                                     .targets = {b.node()}});
  EXPECT_THAT(names_of(step.graph), testing::IsSupersetOf({"a", "b", "y"}));
}

TEST(PruneControlEdges, APlaceholderThatIsNotFedIsStillAnError) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {}, "x"), missing = placeholder(g, DType::kFloat32, {}, "missing");
  const Value y = with_dependencies({missing}, g.add("Neg", {x}), "y");
  const StepGraph step = relaxed(g, {.feeds = {x.endpoint()}, .feed_shapes = {Shape{}}, .fetches = {y.endpoint()}});
  EXPECT_THAT(controls_of(step, "y"), testing::ElementsAre("missing"));
}

//  Switch ─ false ─► a (dead when p is true)      who waits for a is dead as well
TEST(PruneControlEdges, DeadValuesStillTell) {
  Graph g;
  const Value p = placeholder(g, DType::kBool, {}, "p"), x = placeholder(g, DType::kFloat32, {}, "x");
  const Value branches = g.add("Switch", {x, p}, {}, "branches");
  const Value a = g.add("Neg", {branches.output(0)}, {}, "a");
  const Value y = with_dependencies({a}, g.add("Exp", {x}), "y");
  const Value merged = g.add("Merge", {y, branches.output(1)});
  const StepGraph step = relaxed(
      g, {.feeds = {p.endpoint(), x.endpoint()}, .feed_shapes = {Shape{}, Shape{}}, .fetches = {merged.endpoint()}});
  EXPECT_THAT(controls_of(step, "y"), testing::ElementsAre("a"));
}

TEST(PruneControlEdges, ANodeThatIsOnlyWaitedForGoes) {
  expect_rewrite(prune_control_edges, R"(
    x = _Arg [T=float, index=0]
    unread = Neg(x)
    b = Exp(x)
    y = Identity(b, ^unread)
    -> y)",
                 R"(
    x = _Arg [T=float, index=0]
    b = Exp(x)
    y = Identity(b)
    -> y)");
}

TEST(PruneControlEdges, EffectsAreLeftAlone) {
  expect_left_alone(prune_control_edges, R"(
    x = _Arg [T=float, index=0]
    v = VarHandleOp [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    add = AssignAddVariableOp(v, one) [dtype=float]
    b = Exp(x)
    y = Identity(b, ^add)
    -> y)");
}

}  // namespace
}  // namespace argosy
