// Control flow in a session: gradients through branches, and the ops on references to variables.
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

// x ──► Switch ──true──► x·x ──► Merge
//              └─false─► 3·x ──┘
TEST(ControlFlow, GradientsFollowTheBranchTaken) {
  Graph g;
  const Value pred = placeholder(g, DType::kBool, PartialShape::scalar());
  const Value x = placeholder(g, DType::kFloat64, {2});
  const Value sw = g.add("Switch", {x, pred});
  const Value y = g.add("Merge", {sw.output(0) * 3.0, square(sw.output(1))});
  const auto dx = gradients(g, {y}, {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  const auto run = [&](bool taken, double at, Value fetch) {
    const auto out = session.run({{pred, Tensor::scalar(taken)}, {x, Tensor::vector<double>({at, 1})}}, {fetch});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? out->at(0).data<double>()[0] : 0;
  };
  for (const bool taken : {true, false}) {
    const double numeric = (run(taken, 2 + 1e-5, y) - run(taken, 2 - 1e-5, y)) / 2e-5;
    EXPECT_NEAR(run(taken, 2, dx[0]), numeric, 1e-6) << taken;
    EXPECT_NEAR(numeric, taken ? 4 : 3, 1e-6);
  }
}

// The zeros that a branch not taken gives to a Merge, as gradients of conditionals have them: they are known before the
// step, and must be dead all the same.
//
//   Switch ─true─► · 5 ───────────────────────────────► Merge
//        └─false─► Identity ─^─► 0 ─► Fill(Shape) ──────┘
TEST(ControlFlow, KnownValuesOfABranchAreDeadWithIt) {
  Graph g;
  const Value pred = placeholder(g, DType::kBool, PartialShape::scalar());
  const Value x = placeholder(g, DType::kFloat32, {2});
  const Value sw = g.add("Switch", {x, pred});
  const Value pivot = g.add("Identity", {sw.output(0)});
  const Value zero = [&] {
    const auto after = g.control_dependencies({pivot});
    return constant(g, 0.f);
  }();
  const Value zeros = g.add("Fill", {g.add("Shape", {sw.output(0)}), zero});
  const Value y = g.add("Merge", {zeros, sw.output(1) * 5.f});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  for (const bool taken : {true, false}) {
    const auto out = session.run({{pred, Tensor::scalar(taken)}, {x, Tensor::vector<float>({1, 2})}}, {y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).data<float>()[1], taken ? 10 : 0);
  }
}

// v ──► RefSwitch ──true──► += 1 ──► RefMerge
//                 └─false─► += 10 ─┘
TEST(ControlFlow, BranchesOfReferences) {
  Graph g;
  const Value pred = placeholder(g, DType::kBool, PartialShape::scalar());
  const VariableNode v = variable(g, Tensor::scalar(5.f), "v");
  const Value sw = g.add("RefSwitch", {v.ref, pred});
  const Value more = g.add("AssignAdd", {sw.output(1), constant(g, 1.f)});
  const Value much = g.add("AssignAdd", {sw.output(0), constant(g, 10.f)});
  const Value merged = g.add("RefMerge", {much, more});
  const Value index = merged.output(1);
  const Value trigger = g.add("ControlTrigger", {});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  ASSERT_TRUE(session.run_targets({v.initializer, trigger}).ok());
  for (const auto& [taken, branch, expected] : {std::tuple{true, 1, 6.f}, {false, 0, 16.f}}) {
    const auto out = session.run({{pred, Tensor::scalar(taken)}}, {index});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*out->at(0).data<std::int32_t>(), branch);
    EXPECT_EQ(*session.run({v.read})->at(0).data<float>(), expected);
  }
}

// A reference goes into a frame, is added to there, and comes out again.
TEST(ControlFlow, FramesOfReferences) {
  Graph g;
  const VariableNode v = variable(g, Tensor::scalar(5.f), "v");
  const AttrMap once = {{"frame_name", "once"}};
  const Value in = g.add("RefEnter", {v.ref}, once);
  const Value added = g.add("AssignAdd", {in, g.add("Enter", {constant(g, 1.f)}, once)});
  const Value out = g.add("RefExit", {added});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  const Status ran = session.run_targets({out});
  ASSERT_TRUE(ran.ok()) << ran.to_string();
  EXPECT_EQ(*session.run({v.read})->at(0).data<float>(), 6);
}

// while (v < 8) v += 1, on the reference itself.
TEST(ControlFlow, LoopsOfReferences) {
  Graph g;
  const VariableNode v = variable(g, Tensor::scalar(5.f), "v");
  const AttrMap loop = {{"frame_name", "loop"}};
  const AttrMap fixed = {{"frame_name", "loop"}, {"is_constant", true}};
  const Value in = g.add("RefEnter", {v.ref}, loop);
  const Value merge = g.add("RefMerge", {in, in});
  const Value limit = g.add("Enter", {constant(g, 8.f)}, fixed);
  const Value one = g.add("Enter", {constant(g, 1.f)}, fixed);
  const Value sw = g.add("RefSwitch", {merge, g.add("LoopCond", {g.add("Less", {identity(merge), limit})})});
  const Value more = g.add("AssignAdd", {sw.output(1), one});
  g.set_input(merge.node(), 1, g.add("RefNextIteration", {more}).endpoint());
  const Value out = identity(g.add("RefExit", {sw.output(0)}));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  const auto last = session.run({out});
  ASSERT_TRUE(last.ok()) << last.status().to_string();
  EXPECT_EQ(*last->at(0).data<float>(), 8);
}

}  // namespace
}  // namespace argosy
