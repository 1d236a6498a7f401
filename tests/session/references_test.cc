// Reference variables read as TensorFlow's are: Identity of one is the variable's memory, not a snapshot of it.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/loop.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

// The read runs first; who reads *it* after an update sees the update. What TensorFlow's SyncReplicasOptimizer fills
// its token queue with.
class References : public testing::TestWithParam<bool> {  // on a GPU
 protected:
  VariableNode counter() {
    const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
    return variable(g_, Tensor::scalar(std::int64_t{5}), "v");
  }
  std::int64_t run_after_init(const VariableNode& v, Value fetch, const Feeds& feeds = {}) {
    EXPECT_TRUE(g_.status().ok()) << g_.status().to_string();
    TestSession session(g_, {.devices = {.devices = "cpu:0,gpu:0", .emulate = "1"}});
    EXPECT_TRUE(session.run_targets({v.initializer}).ok());
    const auto out = session.run(feeds, {fetch});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out->at(0).data<std::int64_t>() : -1;
  }
  Graph g_;
};

TEST_P(References, ReadersThatComeAfterAnUpdateSeeIt) {
  const VariableNode v = counter();
  const Value added = assign_add(v, constant(g_, std::int64_t{1}));
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(v.read)), 36);
}

TEST_P(References, AlsoThroughAReadOfTheRead) {
  const VariableNode v = counter();
  const Value old = identity(v.read);
  const Value added = [&] {
    const auto after = g_.control_dependencies({old});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(old)), 36);
}

TEST_P(References, AlsoWhereAnotherInputAloneComesAfterIt) {
  const VariableNode v = counter();
  const Value more = square(assign_add(v, constant(g_, std::int64_t{1})));
  EXPECT_EQ(run_after_init(v, v.read + more), 6 + 36);
}

// What tf.cond and tf.while_loop do with a variable that they read: its Identity stays outside.
TEST_P(References, AlsoInABranch) {
  const VariableNode v = counter();
  const Value pred = placeholder(g_, DType::kBool, PartialShape::scalar());
  const Value outer = g_.add("Switch", {v.read, pred});
  const Value inner = g_.add("Switch", {outer.output(1), g_.add("Switch", {pred, pred}).output(1)});
  const Value added = [&] {
    const auto in_branch = g_.control_dependencies({identity(inner.output(1))});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const Value squared = [&] {
    const auto after = g_.control_dependencies({added});
    return square(inner.output(1));
  }();
  const Value merged = g_.add("Merge", {outer.output(0), squared});
  for (const auto& [taken, expected] : {std::pair{true, 36}, {false, 5}}) {
    EXPECT_EQ(run_after_init(v, merged, {{pred, Tensor::scalar(taken)}}), expected);
  }
}

TEST_P(References, AlsoInALoop) {
  const VariableNode v = counter();
  const Value inside = DataflowLoop::enter(g_, v.read), one = DataflowLoop::enter(g_, constant(g_, std::int64_t{1}));
  const Value in_loop = g_.add("RefEnter", {v.ref}, {{"frame_name", "loop"}, {"is_constant", true}});
  const DataflowLoop loop(g_, constant(g_, std::int64_t{0}), [&](const Value& carried) {
    const Value added = [&] {
      const auto in_turn = g_.control_dependencies({carried});
      return g_.add("AssignAdd", {in_loop, one});
    }();
    const auto after = g_.control_dependencies({added});
    return carried + inside;
  });
  EXPECT_EQ(run_after_init(v, loop.out), 6 + 7 + 8);
}

// A turn comes after what the turn before it did.
TEST_P(References, AlsoInTheNextTurn) {
  const VariableNode v = counter();
  const Value inside = DataflowLoop::enter(g_, v.read), one = DataflowLoop::enter(g_, constant(g_, std::int64_t{1}));
  const Value in_loop = g_.add("RefEnter", {v.ref}, {{"frame_name", "loop"}, {"is_constant", true}});
  const DataflowLoop loop(g_, constant(g_, std::int64_t{0}), [&](const Value& carried) {
    const Value sum = carried + inside;
    const Value added = [&] {
      const auto behind = g_.control_dependencies({sum});
      return g_.add("AssignAdd", {in_loop, one});
    }();
    const auto after = g_.control_dependencies({added});
    return identity(sum);
  });
  EXPECT_EQ(run_after_init(v, loop.out), 5 + 6 + 7);
}

TEST_P(References, ReadersThatComeBeforeItDoNot) {
  const VariableNode v = counter();
  const Value before = square(v.read);
  const Value added = [&] {
    const auto after = g_.control_dependencies({before});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, before * read_value(v)), 25 * 6);
}

// TensorFlow's slices of whole rows are the variable's memory where the rows are aligned, as rows of 64 bytes are.
TEST_P(References, SlicesOfAlignedRowsSeeItAsWell) {
  const auto table = [](std::int64_t columns, std::int64_t value) {
    return Tensor::of<std::int64_t>({4, columns}, std::vector(static_cast<std::size_t>(4 * columns), value));
  };
  for (const std::int64_t columns : {8, 7}) {
    const VariableNode v = [&] {
      const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
      return variable(g_, table(columns, 2), "v");
    }();
    for (const Value& rows : {slice(v.read, {1, 0}, {2, -1}), index(v.read, {std::int64_t{1}}),
                              split(v.read, std::vector<std::int64_t>{1, 3})[1], unstack(v.read, 4)[1]}) {
      const Value added = [&] {
        const auto first = g_.control_dependencies({rows});
        return assign_add(v, constant(g_, table(columns, 1)));
      }();
      const auto after = g_.control_dependencies({added});
      EXPECT_EQ(run_after_init(v, square(rows)), columns == 8 ? 9 : 4) << columns;
    }
  }
}

TEST_P(References, AResourceVariablesReadIsASnapshot) {
  const VariableNode v = [&] {
    const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
    return variable(g_, Tensor::scalar(std::int64_t{5}), "v", {.kind = VariableKind::kResource});
  }();
  const Value added = [&] {
    const auto after = g_.control_dependencies({v.read});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(v.read)), 25);
}

// Objects live in the host's memory whatever device their variable is on: they are never copied as bytes.
TEST_P(References, StringsAreTheHosts) {
  const std::string text(100, 's');
  const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
  const VariableNode v = variable(g_, Tensor::vector<std::string>({text, "b"}), "v");
  const Value copy = g_.add("Reshape", {v.ref, constant(g_, Tensor::vector<std::int32_t>({2, 1}))});
  ASSERT_TRUE(g_.status().ok()) << g_.status().to_string();
  TestSession session(g_, {.devices = {.devices = "cpu:0,gpu:0", .emulate = "1"}});
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  for (int i = 0; i < 3; ++i) {
    const auto out = session.run({copy, v.read});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).data<std::string>()[0], text);
  }
}

// Fused readers had memory for the shape that the handle says, and refused the value.
TEST(VariablesOfAnyShape, AreReadAsTheyAre) {
  Graph g;
  const VariableNode v = variable(g, {2}, DType::kFloat32, "v", {.kind = VariableKind::kResource});
  const Value x = placeholder(g, DType::kFloat32, PartialShape::unknown(), "x");
  const Value set = g.add("AssignVariableOp", {v.ref, x}, {{"validate_shape", false}}).control();
  const auto order = g.control_dependencies({set});
  const Value read = g.add("ReadVariableOp", {v.ref}, {{"dtype", DType::kFloat32}});
  const Value y = square(read) + read;
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  for (const Tensor& t :
       {Tensor::vector<float>({1, 2, 3}), Tensor::vector<float>({4}), Tensor::vector<float>({5, 6})}) {
    const auto out = session.run({{x, t}}, {y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    ASSERT_EQ(out->at(0).shape(), t.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const float a = t.data<float>()[i];
      EXPECT_EQ(out->at(0).data<float>()[i], a * a + a);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, References, testing::Bool(),
                         [](const auto& info) { return info.param ? "Gpu" : "Cpu"; });

}  // namespace
}  // namespace argosy
