#include "tests/session/functional_test.h"

namespace argosy {
namespace {

using Functional = FunctionalTest;

TEST_F(Functional, CondTakesOneBranch) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0), [&] { return x * 2; }, [&] { return real(7); });
  EXPECT_EQ(y.shape().to_string(), "[]");
  feed(x, 3);
  EXPECT_EQ(run(y), 6);
  feed(x, -3);
  EXPECT_EQ(run(y), 7);
  const Node& node = graph_.node(y.node());
  EXPECT_EQ(node.op->name, "StatelessIf");
  EXPECT_EQ(node.inputs.size(), 2u);  // the predicate and x, captured once
}

TEST_F(Functional, BranchesMustAgree) {
  const Value x = input();
  cond(
      greater(x, 0),
      [&] {
        return std::vector<Value>{x, x};
      },
      [&] { return std::vector<Value>{x}; });
  EXPECT_EQ(graph_.status().id(), "ARG-FN-001");
  EXPECT_THAT(graph_.status().message(), HasSubstr("2 and 1 values"));
}

TEST_F(Functional, ErrorsInsideABranchAreTheGraphs) {
  const Value x = input();
  cond_value(
      greater(x, 0), [&] { return graph_.add("Nonsense", {x}); }, [&] { return x; });
  EXPECT_THAT(graph_.status().message(), HasSubstr("no op \"Nonsense\""));
}

TEST_F(Functional, ValuesOfABranchStayInside) {
  const Value x = input();
  Value inside;
  cond_value(
      greater(x, 0), [&] { return inside = x * 2; }, [&] { return x; });
  graph_.add("Neg", {inside});
  EXPECT_THAT(graph_.status().message(), HasSubstr("belongs to another graph"));
}

TEST_F(Functional, SwitchCaseTakesTheLastBranchOutOfRange) {
  const Value i = placeholder(graph_, DType::kInt32, PartialShape::scalar());
  const auto y =
      switch_case(i, {[&] { return std::vector<Value>{real(1)}; }, [&] { return std::vector<Value>{real(2)}; },
                      [&] { return std::vector<Value>{real(3)}; }});
  for (const auto& [index, expected] : {std::pair(0, 1.0), {1, 2.0}, {2, 3.0}, {3, 3.0}, {-1, 3.0}}) {
    feed(i, Tensor::scalar(std::int32_t{index}));
    EXPECT_EQ(run(y[0]), expected) << index;
  }
}

TEST_F(Functional, LoopsRunUntilTheirConditionFails) {
  const Value x = input();
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0}), x}, [&](const auto& v) { return less(v[0], 4); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * x};
      });
  feed(x, 2);
  EXPECT_EQ(run(last[1]), 32);
  EXPECT_EQ(last[1].shape().to_string(), "[]");
}

TEST_F(Functional, LoopsEndAtTheirLimit) {
  const auto last = while_loop(
      {real(1)}, [&](const auto&) { return constant(graph_, true); },
      [&](const auto& v) { return std::vector<Value>{v[0] * 3}; }, {.maximum_iterations = 5});
  EXPECT_EQ(run(last[0]), 243);
}

TEST_F(Functional, GrowingValuesNeedAnInvariant) {
  const auto grow = [&](Graph& g, WhileOptions options) {
    const Value start = constant(g, Tensor::vector<double>({1}));
    return while_loop(
        {constant(g, std::int32_t{0}), start}, [&](const auto& v) { return less(v[0], 2); },
        [&](const auto& v) {
          const Value axis = constant(g, std::int32_t{0});
          return std::vector<Value>{v[0] + 1, g.add("ConcatV2", {v[1], v[1], axis}, {{"N", 2}})};
        },
        options);
  };
  Graph strict;
  grow(strict, {});
  EXPECT_EQ(strict.status().id(), "ARG-FN-003");
  const auto last = grow(graph_, {.shape_invariants = {PartialShape::scalar(), PartialShape{PartialShape::kUnknown}}});
  const auto out = try_run(last[1]);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].elements(), 4);
}

TEST_F(Functional, CallsShareOneBody) {
  const Value x = input();
  const FunctionValue f = define_function(graph_, "scaled", {{DType::kFloat64, PartialShape::scalar()}},
                                          [&](const auto& args) { return std::vector<Value>{args[0] * x}; });
  const Value y = call(graph_, f, {call(graph_, f, {real(3)})[0]})[0];
  feed(x, 2);
  EXPECT_EQ(run(y), 12);
  EXPECT_EQ(graph_.functions().size(), 1u);
  EXPECT_EQ(y.shape().to_string(), "[]");
}

// TensorFlow would gather the rows of calls that come together, which changes no row.
TEST_F(Functional, BatchesOfOneCall) {
  const PartialShape rows{-1, 2};
  const FunctionValue f =
      define_function(graph_, "scaled", {{DType::kFloat64, rows}, {DType::kFloat64, PartialShape::scalar()}},
                      [&](const auto& args) { return std::vector<Value>{args[0] * args[1]}; });
  const Value x = placeholder(graph_, DType::kFloat64, rows);
  const std::vector<DType> one = {DType::kFloat64};
  const Value y = graph_.add("BatchFunction", {x, real(3)},
                             {{"f", FunctionRef{f.name}},
                              {"num_batch_threads", 1},
                              {"max_batch_size", 8},
                              {"batch_timeout_micros", 1000},
                              {"Tin", one},
                              {"Tcaptured", one},
                              {"Tout", one}});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  feed(x, Tensor::of<double>({2, 2}, {1, 2, 3, 4}));
  const auto out = try_run(y);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<double>({2, 2}, {3, 6, 9, 12}), 0), "");
}

TEST_F(Functional, EndlessRecursionIsAnError) {
  auto f = std::make_shared<Function>(Function{.name = "f", .body = Graph()});
  f->body.add("PartitionedCall", {}, {{"f", FunctionRef{"f"}}, {"Tout", std::vector<DType>{}}}, "again");
  f->control_returns.push_back({0});
  graph_.add_function(f);
  const Value v = graph_.add("PartitionedCall", {}, {{"f", FunctionRef{"f"}}, {"Tout", std::vector<DType>{}}});
  EXPECT_THAT(try_run(v).status().message(), HasSubstr("more than 64 deep"));
}

TEST_F(Functional, EffectsHappenInTheBranchTaken) {
  for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
    const VariableNode v = variable(graph_, Tensor::scalar(1.0), "v", {.kind = kind});
    const Value x = input();
    const Value done = cond(
        greater(x, 0),
        [&] {
          assign_add(v, real(10));
          return std::vector<Value>{};
        },
        [&] { return std::vector<Value>{}; })[0];
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    EXPECT_EQ(graph_.node(done.node()).op->name, "If");
    ASSERT_TRUE(try_run(v.initializer).ok());
    feed(x, -1);
    ASSERT_TRUE(try_run(done).ok()) << try_run(done).status().to_string();
    EXPECT_EQ(run(v.read), 1);
    feed(x, 1);
    ASSERT_TRUE(try_run(done).ok());
    EXPECT_EQ(run(v.read), 11);
  }
}

TEST_F(Functional, LoopsReadAndWriteVariables) {
  const VariableNode v = variable(graph_, Tensor::scalar(1.0), "v");
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0})}, [&](const auto& i) { return less(i[0], 3); },
      [&](const auto& i) {
        const Value doubled = assign(v, identity(v.ref) * 2);
        return std::vector<Value>{with_dependencies({doubled}, i[0] + 1)};
      });
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  ASSERT_TRUE(try_run(v.initializer).ok());
  ASSERT_TRUE(try_run(last[0]).ok()) << try_run(last[0]).status().to_string();
  EXPECT_EQ(run(v.read), 8);
}

// The predicate does not depend on the loop. In the last iteration, in which the body is dead, no branch runs.
TEST_F(Functional, ABranchOfALoopRunsOnceAnIteration) {
  const VariableNode v = variable(graph_, Tensor::scalar(1.0), "v", {.kind = VariableKind::kResource});
  const Value p = placeholder(graph_, DType::kBool, PartialShape::scalar(), "p");
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0})}, [&](const auto& i) { return less(i[0], 3); },
      [&](const auto& i) {
        return cond(
            p,
            [&] {
              const Value added = assign_add(v, real(10));
              return std::vector<Value>{with_dependencies({added}, i[0] + 1)};
            },
            [&] { return std::vector<Value>{i[0] + 2}; });
      });
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  for (const auto& [taken, sum] : {std::pair(true, 31.0), {false, 1.0}}) {
    ASSERT_TRUE(session_.run({}, {}, {v.initializer}).ok());
    const auto got = session_.run({{p, Tensor::scalar(taken)}}, {last[0]});
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    EXPECT_EQ(*session_.run({v.read}).value()[0].data<double>(), sum);
  }
}

// A variable is read by the function that the index chooses.
TEST_F(Functional, StatefulCases) {
  const VariableNode v = variable(graph_, Tensor::scalar(3.0), "v", {.kind = VariableKind::kResource});
  const Value i = placeholder(graph_, DType::kInt32, PartialShape::scalar(), "i");
  const FunctionValue f =
      define_function(graph_, "scaled", {{DType::kFloat64, PartialShape::scalar()}},
                      [&](const auto& args) { return std::vector<Value>{args[0] * read_value(v)}; });
  const Value y =
      switch_case(i, {[&] { return call(graph_, f, {real(2)}); }, [&] { return std::vector<Value>{real(7)}; }})[0];
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  EXPECT_EQ(graph_.node(y.node()).op->name, "Case");
  ASSERT_TRUE(try_run(v.initializer).ok());
  feed(i, Tensor::scalar(std::int32_t{0}));
  EXPECT_EQ(run(y), 6);
  feed(i, Tensor::scalar(std::int32_t{1}));
  EXPECT_EQ(run(y), 7);
}

TEST_F(Functional, TextFormRoundTrips) {
  const Value x = input();
  cond_value(
      greater(x, 0), [&] { return x * 2; }, [&] { return x; });
  const std::string text = to_text(graph_);
  const auto back = parse_text(text, graph_.ops());
  ASSERT_TRUE(back.ok()) << back.status().to_string() << "\n" << text;
  EXPECT_EQ(to_text(*back), text);
}

}  // namespace
}  // namespace argosy
