// Functional control flow end to end: every graph is run twice, by the evaluator, which calls functions as they stand,
// and by a session, which lowers them to dataflow; both must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "argosy/graph/gradients.h"
#include "argosy/graph/text.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/list/list.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

class Functional : public testing::Test {
 protected:
  Value input(PartialShape shape = PartialShape::scalar(), DType dtype = DType::kFloat64) {
    return placeholder(graph_, dtype, std::move(shape), "x");
  }
  Result<std::vector<Tensor>> try_run(Value v) {
    if (!graph_.status().ok()) return graph_.status();
    std::unordered_map<Endpoint, Tensor> endpoints;
    for (const auto& [value, tensor] : feeds_) endpoints[value.endpoint()] = tensor;
    auto called = evaluate(graph_, endpoints, {v.endpoint()}, {.resources = &resources_});
    const auto lowered = session_.run(feeds_, {v});
    EXPECT_EQ(code_name(called.status().code()), code_name(lowered.status().code()))
        << "called: " << called.status().to_string() << "\nlowered: " << lowered.status().to_string();
    if (called.ok() && lowered.ok() && (*called)[0].valid()) {
      EXPECT_EQ(difference((*lowered)[0], (*called)[0], 1e-12), "") << "lowered against called";
    }
    return called;
  }
  double run(Value v) {
    const auto out = try_run(v);
    EXPECT_TRUE(out.ok()) << out.status().to_string() << "\n" << to_text(graph_);
    return out.ok() && (*out)[0].dtype() == DType::kFloat64 ? *(*out)[0].data<double>() : 0;
  }
  void feed(Value v, Tensor x) {
    std::erase_if(feeds_, [&](const auto& f) { return f.first == v; });
    feeds_.emplace_back(v, std::move(x));
  }
  void feed(Value v, double x) { feed(v, Tensor::scalar(x)); }
  // dy/dx at every one of `points` against finite differences.
  void check_gradient(Value y, Value x, std::initializer_list<double> points) {
    const auto dx = gradients(graph_, {y}, {x});
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string() << "\n" << to_text(graph_);
    for (const double at : points) {
      feed(x, at + 1e-5);
      const double above = run(y);
      feed(x, at - 1e-5);
      const double below = run(y);
      feed(x, at);
      const double numeric = (above - below) / 2e-5;
      EXPECT_NEAR(run(dx[0]), numeric, 1e-5 * std::max(1.0, std::abs(numeric))) << "at " << at;
    }
  }
  Value real(double v) { return constant(graph_, v); }

  Graph graph_;
  ResourceManager resources_;
  Session session_{graph_};
  Feeds feeds_;
};

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
          return std::vector<Value>{v[0] + 1,
                                    g.add("ConcatV2", {v[1], v[1], axis}, {{"N", 2}})};
        },
        options);
  };
  Graph strict;
  grow(strict, {});
  EXPECT_EQ(strict.status().id(), "ARG-FN-003");
  const auto last = grow(graph_, {.shape_invariants = {PartialShape{}, PartialShape{PartialShape::kUnknown}}});
  const auto out = try_run(last[1]);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].elements(), 4);
}

TEST_F(Functional, CallsShareOneBody) {
  const Value x = input();
  const FunctionValue f = define_function(graph_, "scaled", {{DType::kFloat64, PartialShape{}}},
                                          [&](const auto& args) { return std::vector<Value>{args[0] * x}; });
  const Value y = call(graph_, f, {call(graph_, f, {real(3)})[0]})[0];
  feed(x, 2);
  EXPECT_EQ(run(y), 12);
  EXPECT_EQ(graph_.functions().size(), 1u);
  EXPECT_EQ(y.shape().to_string(), "[]");
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

TEST_F(Functional, TextFormRoundTrips) {
  const Value x = input();
  cond_value(
      greater(x, 0), [&] { return x * 2; }, [&] { return x; });
  const std::string text = to_text(graph_);
  const auto back = parse_text(text, graph_.ops());
  ASSERT_TRUE(back.ok()) << back.status().to_string() << "\n" << text;
  EXPECT_EQ(to_text(*back), text);
}

// --- gradients -------------------------------------------------------------------------------------------------------

TEST_F(Functional, GradientOfCond) {
  const Value x = input();
  const Value w = x * x;
  const Value y = cond_value(
      greater(x, 0), [&] { return w * x; }, [&] { return 5 * x; });
  check_gradient(y, x, {2, -3});
}

TEST_F(Functional, GradientOfABranchThatLeavesXAlone) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0), [&] { return x * x; }, [&] { return real(5); });
  check_gradient(y, x, {2, -3});
}

TEST_F(Functional, GradientOfNestedConds) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0),
      [&] {
        return cond_value(
            greater(x, 1), [&] { return x * x * x; }, [&] { return x * x; });
      },
      [&] { return -x; });
  check_gradient(y, x, {2, 0.5, -3});
}

TEST_F(Functional, GradientOfSwitchCase) {
  const Value x = input();
  const Value index = graph_.add("Cast", {x}, {{"DstT", DType::kInt32}});
  const Value y = switch_case(index, {[&] { return std::vector<Value>{x}; }, [&] { return std::vector<Value>{x * x}; },
                                      [&] { return std::vector<Value>{sin(x)}; }})[0];
  check_gradient(y, x, {0.5, 1.5, 2.5, 7.5});
}

TEST_F(Functional, GradientOfCalls) {
  const Value x = input();
  const FunctionValue f = define_function(graph_, "f", {{DType::kFloat64, PartialShape{}}},
                                          [&](const auto& args) { return std::vector<Value>{args[0] * args[0] * x}; });
  check_gradient(call(graph_, f, {sin(x)})[0], x, {0.7, -1.2});
}

TEST_F(Functional, GradientOfLoops) {
  const Value x = input();
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0}), x}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, sin(v[1]) * x};
      });
  check_gradient(last[1], x, {0.7, -1.2});
}

TEST_F(Functional, GradientOfLoopsThatNeverRun) {
  const Value x = input();
  const auto last = while_loop(
      {real(0), x * x}, [&](const auto& v) { return greater(v[0], 0); },
      [&](const auto& v) {
        return std::vector<Value>{v[0], v[1] * x};
      });
  check_gradient(last[1], x, {0.7, -1.2});
}

// How often a loop runs depends on x; a and b feed each other.
TEST_F(Functional, GradientOfCoupledValues) {
  const Value x = input();
  const auto last = while_loop(
      {x, x * x, real(1)}, [&](const auto& v) { return less(v[1], 50); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + v[1] * 0.1, v[1] + v[0] * v[0], v[2]};
      });
  check_gradient(last[0] * last[2], x, {1.3, 2.1});
}

TEST_F(Functional, GradientOfNestedLoops) {
  const Value x = input();
  const Value n = constant(graph_, std::int32_t{3});
  const Value zero = constant(graph_, std::int32_t{0});
  const auto outer = while_loop(
      {zero, x}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        const auto inner = while_loop(
            {zero, v[1]}, [&](const auto& u) { return less(u[0], v[0]); },
            [&](const auto& u) {
              return std::vector<Value>{u[0] + 1, sin(u[1]) + v[1] * x};
            });
        return std::vector<Value>{v[0] + 1, inner[1]};
      });
  check_gradient(outer[1], x, {0.4, -0.9});
}

TEST_F(Functional, GradientOfCondInLoopAndLoopInCond) {
  const Value x = input();
  const auto loop = while_loop(
      {constant(graph_, std::int32_t{0}), x}, [&](const auto& v) { return less(v[0], 4); },
      [&](const auto& v) {
        const Value next = cond_value(
            greater(v[1], 1), [&] { return v[1] * 0.5; }, [&] { return v[1] * v[1] + x; });
        return std::vector<Value>{v[0] + 1, next};
      });
  check_gradient(loop[1], x, {0.8, 1.7});
  const Value y = cond_value(
      greater(x, 0),
      [&] {
        return while_loop(
            {constant(graph_, std::int32_t{0}), x},
            [&](const auto& v) { return less(v[0], 2); },
            [&](const auto& v) {
              return std::vector<Value>{v[0] + 1, v[1] * x};
            })[1];
      },
      [&] { return x; });
  check_gradient(y, x, {0.8, -0.8});
}

TEST_F(Functional, GradientOfListsInLoops) {
  const Value x = input();
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0}), x, tensor_list(graph_, DType::kFloat64, PartialShape::scalar())},
      [&](const auto& v) { return less(v[0], 4); },
      [&](const auto& v) {
        const Value next = sin(v[1]) + x;
        return std::vector<Value>{v[0] + 1, next, tensor_list_push_back(v[2], next * next)};
      });
  const Value y = graph_.add("Sum", {tensor_list_stack(last[2]), constant(graph_, std::int32_t{0})});
  check_gradient(y, x, {0.8, -0.3});
}

// d(x³)/dx by a gradient inside a branch, then differentiated again.
TEST_F(Functional, GradientInsideABranch) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0), [&] { return gradients(graph_, {x * x * x}, {x})[0]; }, [&] { return x; });
  feed(x, 2);
  EXPECT_NEAR(run(y), 12, 1e-9);
  check_gradient(y, x, {2, -3});
}

// What the forward pass drew or read, the backward pass gets; it does not draw or read again.
TEST_F(Functional, GradientSeesWhatTheForwardPassSaw) {
  const Value x = input();
  for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
    const VariableNode v = variable(graph_, Tensor::scalar(3.0), "v", {.kind = kind});
    ASSERT_TRUE(try_run(v.initializer).ok());
    const Value y = cond_value(
        greater(x, 0), [&] { return read_value(v) * x; }, [&] { return x; });
    const auto last = while_loop(
        {constant(graph_, std::int32_t{0}), y}, [&](const auto& i) { return less(i[0], 2); },
        [&](const auto& i) {
          return std::vector<Value>{i[0] + 1, i[1] * read_value(v)};
        });
    Value dx;
    {
      const auto after = graph_.control_dependencies({assign(v, identity(last[1]))});
      dx = gradients(graph_, {last[1]}, {x})[0];
    }
    feed(x, 2);
    EXPECT_NEAR(run(dx), 27, 1e-9);
    ASSERT_TRUE(try_run(v.initializer).ok());
    check_gradient(last[1], x, {1.5, -0.5});
  }
}

TEST_F(Functional, GradientOfCapturedVariables) {
  for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
    const VariableNode v = variable(graph_, Tensor::scalar(3.0), "v", {.kind = kind});
    ASSERT_TRUE(try_run(v.initializer).ok());
    const Value x = input();
    const auto last = while_loop(
        {constant(graph_, std::int32_t{0}), x}, [&](const auto& i) { return less(i[0], 3); },
        [&](const auto& i) {
          return std::vector<Value>{i[0] + 1, i[1] * read_value(v)};
        });
    const auto dv = gradients(graph_, {last[1]}, {v.ref});
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    feed(x, 2);
    EXPECT_NEAR(run(dv[0]), 2 * 3 * 9, 1e-9);  // y = x v³
  }
}

}  // namespace
}  // namespace argosy
