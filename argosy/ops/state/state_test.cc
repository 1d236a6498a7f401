#include "argosy/ops/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_dump.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

TEST(StateOps, Assign) {
  const Tensor old = Tensor::vector<float>({1, 2});
  const Tensor value = Tensor::vector<float>({3, -4});
  check_both({.op = "Assign", .inputs = {old, value}, .after = {value}}, "AssignVariableOp");
  check_both({.op = "Assign", .inputs = {Tensor(), value}, .after = {value}}, "AssignVariableOp");
  const Tensor longer = Tensor::vector<float>({1, 2, 3});
  check_state({.op = "Assign", .inputs = {old, longer}, .error = Code::kInvalidArgument, .error_contains = "[3]"});
  check_state({.op = "Assign",
               .inputs = {old, longer},
               .error = Code::kInvalidArgument,
               .error_contains = "Assign requires shapes of both tensors to match. lhs shape= "});
  check_state({.op = "Assign", .inputs = {old, longer}, .attrs = {{"validate_shape", false}}, .after = {longer}});
  check_state({.op = "AssignVariableOp",
               .inputs = {old, longer},
               .attrs = {{"dtype", DType::kFloat32}, {"validate_shape", true}},
               .error = Code::kInvalidArgument});
  check_state({.op = "Assign",
               .inputs = {Tensor::vector<std::string>({"a"}), Tensor::vector<std::string>({"b"})},
               .after = {Tensor::vector<std::string>({"b"})}});
  check_state({.op = "Assign",
               .inputs = {Tensor::of<float>({0, 2}, {}), Tensor::of<float>({0, 2}, {})},
               .after = {Tensor::of<float>({0, 2}, {})}});
}

TEST(StateOps, AssignAddAndSub) {
  const Tensor old = Tensor::of<float>({1, 3}, {1, 2, -3});
  const Tensor by = Tensor::of<float>({1, 3}, {4, 0.5, 1});
  check_both({.op = "AssignAdd", .inputs = {old, by}, .after = {Tensor::of<float>({1, 3}, {5, 2.5, -2})}},
             "AssignAddVariableOp");
  check_both({.op = "AssignSub", .inputs = {old, by}, .after = {Tensor::of<float>({1, 3}, {-3, 1.5, -4})}},
             "AssignSubVariableOp");
  check_both({.op = "AssignAdd",
              .inputs = {Tensor::scalar(std::int64_t{7}), Tensor::scalar(std::int64_t{-9})},
              .after = {Tensor::scalar(std::int64_t{-2})},
              .other_dtypes = false},
             "AssignAddVariableOp");
  check_both({.op = "AssignAdd",  // integers wrap
              .inputs = {Tensor::scalar(std::int32_t{2147483647}), Tensor::scalar(std::int32_t{1})},
              .after = {Tensor::scalar(std::int32_t{-2147483647 - 1})},
              .other_dtypes = false},
             "AssignAddVariableOp");
  check_both({.op = "AssignAdd",
              .inputs = {Tensor::scalar(std::complex<float>(1, 2)), Tensor::scalar(std::complex<float>(3, -4))},
              .after = {Tensor::scalar(std::complex<float>(4, -2))}},
             "AssignAddVariableOp");
  check_both({.op = "AssignAdd", .inputs = {old, Tensor::scalar(1.f)}, .error = Code::kInvalidArgument},
             "AssignAddVariableOp");
  check_both({.op = "AssignAdd",
              .inputs = {Tensor(), Tensor::scalar(1.f)},
              .error = Code::kFailedPrecondition,
              .error_contains = "Attempting to use uninitialized value v0"},
             "AssignAddVariableOp");
}

TEST(StateOps, LargeUpdatesUseEveryThread) {
  check_both({.op = "AssignSub",
              .inputs = {random_tensor(DType::kFloat32, {300, 400}, 1), random_tensor(DType::kFloat32, {300, 400}, 2)}},
             "AssignSubVariableOp");
}

TEST(StateOps, Reads) {
  const Tensor value = Tensor::vector<float>({1, 2});
  const AttrMap dtype = {{"dtype", DType::kFloat32}};
  check_state({.op = "ReadVariableOp", .inputs = {value}, .attrs = dtype, .after = {value}, .expect = {value}});
  check_state({.op = "ReadVariableOp", .inputs = {Tensor()}, .attrs = dtype, .error = Code::kFailedPrecondition});
  check_state({.op = "ReadVariableOp",
               .inputs = {Tensor::scalar(1.0)},
               .attrs = dtype,
               .error = Code::kInvalidArgument,
               .other_dtypes = false});
  check_both({.op = "IsVariableInitialized", .inputs = {value}, .expect = {Tensor::scalar(true)}},
             "VarIsInitializedOp");
  check_both({.op = "IsVariableInitialized", .inputs = {Tensor()}, .expect = {Tensor::scalar(false)}},
             "VarIsInitializedOp");
  check_state({.op = "VariableShape",
               .inputs = {Tensor::of<float>({2, 0, 3}, {})},
               .expect = {Tensor::vector<std::int32_t>({2, 0, 3})},
               .other_dtypes = false});
  check_state({.op = "VariableShape",
               .inputs = {Tensor::scalar(1.f)},
               .attrs = {{"out_type", DType::kInt64}},
               .expect = {Tensor::of<std::int64_t>({0}, {})},
               .other_dtypes = false});
}

TEST(StateOps, ReadAgainKeepsAnEarlierReadOfAnotherSize) {
  const Tensor value = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
               now = Tensor::of<float>({3, 2}, {6, 5, 4, 3, 2, 1});
  check({.op = "_ReadAgain", .inputs = {value, value}, .expect = {value}});
  check({.op = "_ReadAgain", .inputs = {value, now}, .expect = {now.reshaped({2, 3})}});
  check({.op = "_ReadAgain", .inputs = {value, Tensor::of<float>({4}, {0, 0, 0, 0})}, .expect = {value}});
}

TEST(StateOps, RefIdentityNamesTheVariable) {
  const Tensor value = Tensor::vector<float>({1, 2});
  for (const char* op : {"RefIdentity", "DebugGradientRefIdentity"})
    check_state({.op = op, .inputs = {value}, .after = {value}});
}

TEST(StateOps, CountUpTo) {
  const Tensor two = Tensor::scalar(std::int32_t{2});
  check_both({.op = "CountUpTo",
              .inputs = {two},
              .attrs = {{"limit", 3}},
              .after = {Tensor::scalar(std::int32_t{3})},
              .expect = {two}},
             "ResourceCountUpTo");
  check_both({.op = "CountUpTo",
              .inputs = {two},
              .attrs = {{"limit", 2}},
              .error = Code::kOutOfRange,
              .error_contains = "Reached limit of 2"},
             "ResourceCountUpTo");
  check_both({.op = "CountUpTo",
              .inputs = {Tensor::vector<std::int32_t>({1})},
              .attrs = {{"limit", 2}},
              .error = Code::kInvalidArgument},
             "ResourceCountUpTo");
}

TEST(StateOps, DestroyedVariablesHaveNoValue) {
  check_state({.op = "DestroyResourceOp", .inputs = {Tensor::scalar(1.f)}, .after = {Tensor()}});
  check_state({.op = "DestroyResourceOp", .inputs = {Tensor()}, .after = {Tensor()}});
  check_state({.op = "DestroyResourceOp",
               .inputs = {Tensor()},
               .attrs = {{"ignore_lookup_error", false}},
               .error = Code::kNotFound});
}

class Variables : public testing::TestWithParam<VariableKind> {
 protected:
  VariableOptions options() const { return {.kind = GetParam()}; }
  Result<std::vector<Tensor>> run(Value v) { return evaluate(graph_, {}, {v.endpoint()}, {.resources = &resources_}); }
  float read(const VariableNode& v) {
    const auto out = run(v.read);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? out->at(0).data<float>()[0] : 0;
  }
  Graph graph_;
  ResourceManager resources_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Variables, testing::Values(VariableKind::kReference, VariableKind::kResource),
                         [](const auto& info) { return info.param == VariableKind::kResource ? "Resource" : "Ref"; });

TEST_P(Variables, LiveBetweenRuns) {
  const VariableNode v = variable(graph_, Tensor::scalar(1.f), "v", options());
  const Value more = assign_add(v, constant(graph_, 2.f));
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  EXPECT_THAT(run(v.read).status().message(), HasSubstr("uninitialized value v"));
  ASSERT_TRUE(run(v.initializer).ok());
  ASSERT_TRUE(run(more).ok());
  ASSERT_TRUE(run(more).ok());
  EXPECT_EQ(read(v), 5);
  EXPECT_EQ(v.shape().to_string(), "[]");
}

TEST_P(Variables, AreNamedAsInTensorFlow) {
  const auto scope = graph_.name_scope("dense");
  const VariableNode v = variable(constant(graph_, Tensor::vector<float>({1, 2})), "kernel", options());
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  EXPECT_EQ(v.ref.node_name(), "dense/kernel");
  EXPECT_EQ(v.initializer.node_name(), "dense/kernel/Assign");
  const bool resource = GetParam() == VariableKind::kResource;
  EXPECT_EQ(v.read.node_name(), resource ? "dense/kernel/Read/ReadVariableOp" : "dense/kernel/read");
  EXPECT_EQ(v.read.shape().to_string(), "[2]");
  EXPECT_EQ(v.dtype(), DType::kFloat32);
  const auto& list = resources_.list("localhost");
  EXPECT_TRUE(list.empty());
  ASSERT_TRUE(run(v.initializer).ok());
  EXPECT_EQ(resources_.list("localhost").at(0).first, "dense/kernel");
}

TEST_P(Variables, SharedNamesShareOneValue) {
  VariableOptions shared = options();
  shared.shared_name = "s";
  const VariableNode a = variable(graph_, Tensor::scalar(1.f), "a", shared);
  const VariableNode b = variable(graph_, PartialShape{}, DType::kFloat32, "b", shared);
  ASSERT_TRUE(run(a.initializer).ok());
  EXPECT_EQ(read(b), 1);
  shared.container = "elsewhere";
  const VariableNode c = variable(graph_, PartialShape{}, DType::kFloat32, "c", shared);
  EXPECT_EQ(run(c.read).status().code(), Code::kFailedPrecondition);
  shared.container = "";
  const VariableNode d = variable(graph_, PartialShape{}, DType::kInt32, "d", shared);
  {
    const auto in_use = resources_.list();
    EXPECT_EQ(run(d.read).status().id(), "ARG-VAR-002");
  }
  EXPECT_EQ(run(d.read).status().code(), Code::kFailedPrecondition);  // nobody held the other one: it is gone
}

TEST_P(Variables, OfAClearedContainerAreNew) {
  const VariableNode v = variable(graph_, Tensor::scalar(1.f), "v", options());
  ASSERT_TRUE(run(v.initializer).ok());
  resources_.clear();
  EXPECT_EQ(run(v.read).status().code(), Code::kFailedPrecondition);
}

TEST_P(Variables, CarryGradients) {
  const VariableNode v = variable(graph_, Tensor::vector<float>({1, 2}), "v", options());
  const auto dv = gradients(graph_, {identity(read_value(v))}, {v.ref});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  EXPECT_TRUE(dv[0].valid());
}

// Of sums of squares of what is read, by differences: the variable is assigned, then read.
TEST_P(Variables, GradientsOfWhatIsRead) {
  const bool resource = GetParam() == VariableKind::kResource;
  const Tensor at = random_tensor(DType::kFloat64, {3, 2});
  const VariableNode v = variable(graph_, at, "v", options());
  const Value value = placeholder(graph_, DType::kFloat64, {3, 2});
  const Value set = assign(v, value);
  const AttrMap dtype = {{"dtype", DType::kFloat64}};
  std::vector<std::pair<std::string, Value>> reads;
  if (resource) {
    const Value rows = constant(graph_, Tensor::vector<std::int32_t>({2, 0, 2}));
    const Value elements = constant(graph_, Tensor::of<std::int32_t>({2, 2}, {2, 1, 0, 0}));
    reads = {{"ReadVariableOp", v.read},
             {"ResourceGather", graph_.add("ResourceGather", {v.ref, rows}, dtype)},
             {"ResourceGatherNd", graph_.add("ResourceGatherNd", {v.ref, elements}, dtype)}};
  } else {
    for (const char* op : {"RefIdentity", "DebugGradientRefIdentity"}) reads.emplace_back(op, graph_.add(op, {v.ref}));
  }
  for (const auto& [op, read] : reads) {
    SCOPED_TRACE(op);
    const Value y = graph_.add("L2Loss", {identity(read)});
    const auto dv = gradients(graph_, {y}, {v.ref});
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    const auto run_at = [&](const Tensor& t, Value fetch) {
      const auto done = evaluate(graph_, {{value.endpoint(), t}}, {set.endpoint()}, {.resources = &resources_});
      EXPECT_TRUE(done.ok()) << done.status().to_string();
      const auto out = run(fetch);
      EXPECT_TRUE(out.ok()) << out.status().to_string();
      return out.ok() ? out->at(0) : Tensor();
    };
    const Tensor analytic = run_at(at, dv[0]);
    ASSERT_TRUE(analytic.valid());
    ASSERT_EQ(analytic.shape(), at.shape());
    for (std::int64_t k = 0; k < at.elements(); ++k) {
      const auto loss = [&](double step) {
        Tensor moved = at.clone();
        moved.data<double>()[k] += step;
        return *run_at(moved, y).data<double>();
      };
      EXPECT_NEAR(analytic.data<double>()[k], (loss(1e-5) - loss(-1e-5)) / 2e-5, 1e-8) << "element " << k;
    }
    if (!HasFailure()) dump_gradient(op);
  }
}

TEST(StateShapes, ThroughHandles) {
  Graph g;
  const VariableNode v = variable(g, {2, 3}, DType::kFloat32, "v", {.kind = VariableKind::kResource});
  const Value alias = identity(v.ref);
  EXPECT_EQ(g.add("ReadVariableOp", {alias}, {{"dtype", DType::kFloat32}}).shape().to_string(), "[2,3]");
  EXPECT_EQ(g.add("Fill", {g.add("VariableShape", {v.ref}), constant(g, 0.f)}).shape().to_string(), "[2,3]");
  const Value rows = g.add("ResourceGather", {v.ref, constant(g, Tensor::vector<std::int32_t>({0, 1, 1}))},
                           {{"dtype", DType::kFloat32}});
  EXPECT_EQ(rows.shape().to_string(), "[3,3]");
  ASSERT_TRUE(g.status().ok());
  g.add("AssignVariableOp", {v.ref, constant(g, Tensor::vector<float>({1}))}, {{"validate_shape", true}});
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

TEST(StateShapes, ABuilderRefusesWhatTheVariableDoesNotSay) {
  Graph g;
  const VariableNode v = variable(g, {2}, DType::kFloat32, "v", {.kind = VariableKind::kResource});
  EXPECT_FALSE(assign(v, constant(g, Tensor::vector<float>({1}))).valid());
  EXPECT_EQ(g.status().id(), "ARG-SHAPE-005");
}

// As in TensorFlow, whose kernel asks for the dtype alone. It was refused where feeds told the shape.
TEST(StateShapes, ValuesOfAnyShapeAreAssignedWithoutValidation) {
  Graph g;
  const VariableNode v = variable(g, {2}, DType::kFloat32, "v", {.kind = VariableKind::kResource});
  const Tensor longer = Tensor::vector<float>({1, 2, 3});
  const Value set = g.add("AssignVariableOp", {v.ref, constant(g, longer)}).control();
  const auto order = g.control_dependencies({set});
  const Value read = g.add("ReadVariableOp", {v.ref}, {{"dtype", DType::kFloat32}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {}, {read.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], longer, 0), "");
}

TEST(StateShapes, TheOldVariableOpSaysNothingWithAScalar) {
  Graph g;
  const AttrMap scalar = {{"dtype", DType::kFloat32}, {"shape", PartialShape::scalar()}};
  EXPECT_FALSE(g.add("Variable", {}, scalar).shape().has_rank());
  EXPECT_TRUE(g.add("VariableV2", {}, scalar).shape().has_rank());
  const Value set = g.add("Assign", {g.add("Variable", {}, scalar), constant(g, 7.f)});
  const auto out = evaluate(g, {}, {identity(set).endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(*out->at(0).data<float>(), 7);
}

TEST(StateOps, TemporaryVariables) {
  Graph g;
  const Value t = g.add("TemporaryVariable", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{2}}}, "tmp");
  const Value set = g.add("Assign", {t, constant(g, Tensor::vector<float>({1, 2}))});
  const Value more = g.add("AssignAdd", {set, constant(g, Tensor::vector<float>({1, 1}))});
  const Value last = g.add("DestroyTemporaryVariable", {more}, {{"var_name", "tmp"}});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {}, {last.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({2, 3}), 0), "");
  const Value other = g.add("DestroyTemporaryVariable", {more}, {{"var_name", "mp"}});
  EXPECT_EQ(evaluate(g, {}, {other.endpoint()}).status().code(), Code::kNotFound);
}

TEST(StateOps, RefSelectNamesOneOfTheVariables) {
  for (const int which : {-1, 0, 1, 2}) {
    Graph g;
    const AttrMap attrs = {{"dtype", DType::kFloat32}, {"shape", PartialShape{2}}};
    const Value a = g.add("VariableV2", {}, attrs, "a"), b = g.add("VariableV2", {}, attrs, "b");
    const Value set_a = g.add("Assign", {a, constant(g, Tensor::vector<float>({1, 2}))});
    const Value set_b = g.add("Assign", {b, constant(g, Tensor::vector<float>({3, 4}))});
    const Value one = g.add("RefSelect", {constant(g, which), set_a, set_b});
    EXPECT_EQ(one.shape().to_string(), "[2]");
    const Value more = g.add("AssignAdd", {one, constant(g, Tensor::vector<float>({10, 10}))});
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    const auto out = evaluate(g, {}, {identity(more).endpoint()});
    if (which < 0 || which > 1) {
      EXPECT_THAT(out.status().to_string(), HasSubstr("Index must be in the range [0, 2) but got"));
      continue;
    }
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(
        difference((*out)[0],
                   Tensor::vector<float>(which == 0 ? std::vector<float>{11, 12} : std::vector<float>{13, 14}), 0),
        "");
  }
}

// A promise about reads that costs nothing here: the variable is as before.
TEST(StateOps, CopiesOnReadAreSwitchedOff) {
  Graph g;
  const Value v = g.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape{2}}}, "v");
  const Value set = g.add("AssignVariableOp", {v, constant(g, Tensor::vector<float>({1, 2}))}).control();
  Value off, read;
  {
    auto after = g.control_dependencies({set});
    off = g.add("DisableCopyOnRead", {v}).control();
  }
  {
    auto after = g.control_dependencies({off});
    read = g.add("ReadVariableOp", {v}, {{"dtype", DType::kFloat32}});
  }
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {}, {read.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({1, 2}), 0), "");
}

}  // namespace
}  // namespace argosy
