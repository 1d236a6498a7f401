// Gradients of conditionals, loops and calls against finite differences.
#include "argosy/ops/tensor_array/tensor_array.h"
#include "tests/session/functional_test.h"

namespace argosy {
namespace {

using FunctionalGradient = FunctionalTest;

TEST_F(FunctionalGradient, GradientOfCond) {
  const Value x = input();
  const Value w = x * x;
  const Value y = cond_value(
      greater(x, 0), [&] { return w * x; }, [&] { return 5 * x; });
  check_gradient(y, x, {2, -3});
}

TEST_F(FunctionalGradient, GradientOfABranchThatLeavesXAlone) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0), [&] { return x * x; }, [&] { return real(5); });
  check_gradient(y, x, {2, -3});
}

TEST_F(FunctionalGradient, GradientOfNestedConds) {
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

TEST_F(FunctionalGradient, GradientOfSwitchCase) {
  const Value x = input();
  const Value index = graph_.add("Cast", {x}, {{"DstT", DType::kInt32}});
  const Value y = switch_case(index, {[&] { return std::vector<Value>{x}; }, [&] { return std::vector<Value>{x * x}; },
                                      [&] { return std::vector<Value>{sin(x)}; }})[0];
  check_gradient(y, x, {0.5, 1.5, 2.5, 7.5});
}

TEST_F(FunctionalGradient, GradientOfCalls) {
  const Value x = input();
  const FunctionValue f = define_function(graph_, "f", {{DType::kFloat64, PartialShape::scalar()}},
                                          [&](const auto& args) { return std::vector<Value>{args[0] * args[0] * x}; });
  check_gradient(call(graph_, f, {sin(x)})[0], x, {0.7, -1.2});
}

TEST_F(FunctionalGradient, GradientOfLoops) {
  const Value x = input();
  const auto last = while_loop(
      {constant(graph_, std::int32_t{0}), x}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, sin(v[1]) * x};
      });
  check_gradient(last[1], x, {0.7, -1.2});
}

TEST_F(FunctionalGradient, GradientOfLoopsThatNeverRun) {
  const Value x = input();
  const auto last = while_loop(
      {real(0), x * x}, [&](const auto& v) { return greater(v[0], 0); },
      [&](const auto& v) {
        return std::vector<Value>{v[0], v[1] * x};
      });
  check_gradient(last[1], x, {0.7, -1.2});
}

// How often a loop runs depends on x; a and b feed each other.
TEST_F(FunctionalGradient, GradientOfCoupledValues) {
  const Value x = input();
  const auto last = while_loop(
      {x, x * x, real(1)}, [&](const auto& v) { return less(v[1], 50); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + v[1] * 0.1, v[1] + v[0] * v[0], v[2]};
      });
  check_gradient(last[0] * last[2], x, {1.3, 2.1});
}

TEST_F(FunctionalGradient, GradientOfNestedLoops) {
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

TEST_F(FunctionalGradient, GradientOfCondInLoopAndLoopInCond) {
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
            {constant(graph_, std::int32_t{0}), x}, [&](const auto& v) { return less(v[0], 2); },
            [&](const auto& v) {
              return std::vector<Value>{v[0] + 1, v[1] * x};
            })[1];
      },
      [&] { return x; });
  check_gradient(y, x, {0.8, -0.8});
}

TEST_F(FunctionalGradient, GradientOfListsInLoops) {
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
TEST_F(FunctionalGradient, GradientInsideABranch) {
  const Value x = input();
  const Value y = cond_value(
      greater(x, 0), [&] { return gradients(graph_, {x * x * x}, {x})[0]; }, [&] { return x; });
  feed(x, 2);
  EXPECT_NEAR(run(y), 12, 1e-9);
  check_gradient(y, x, {2, -3});
}

// What the forward pass drew or read, the backward pass gets; it does not draw or read again.
TEST_F(FunctionalGradient, GradientSeesWhatTheForwardPassSaw) {
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

TEST_F(FunctionalGradient, GradientOfCapturedVariables) {
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

TEST_F(FunctionalGradient, GradientOfStatefulCasesAndCalls) {
  const VariableNode v = variable(graph_, Tensor::scalar(3.0), "v", {.kind = VariableKind::kResource});
  ASSERT_TRUE(try_run(v.initializer).ok());
  const Value x = input();
  const FunctionValue f =
      define_function(graph_, "f", {{DType::kFloat64, PartialShape::scalar()}},
                      [&](const auto& args) { return std::vector<Value>{args[0] * read_value(v)}; });
  const Value index = graph_.add("Cast", {x}, {{"DstT", DType::kInt32}});
  const Value y = switch_case(
      index, {[&] { return call(graph_, f, {x * x}); }, [&] { return std::vector<Value>{sin(x) * read_value(v)}; }})[0];
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  check_gradient(y * call(graph_, f, {x})[0], x, {0.5, 1.5});
}

TEST_F(FunctionalGradient, SecondDerivativesOfLoops) {
  const Value x = input();
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, sin(v[1]) * x};
      });
  const auto dx = gradients(graph_, {last[1]}, {x});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  check_gradient(dx[0], x, {0.7, -1.2});
}

TEST_F(FunctionalGradient, OfTwoQuestionsToOneLoop) {
  const Value x = input();
  const Value z = placeholder(graph_, DType::kFloat64, PartialShape::scalar(), "z");
  const auto last = while_loop(
      {integer(0), x, z}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * v[2], v[2] + x};
      });
  feed(z, 0.5);
  check_gradient(last[1], x, {0.7, -1.2});
  feed(x, 0.7);
  check_gradient(last[1] + last[2], z, {0.3, 2});
}

// An array that the loop reads and another that it writes: the gradients meet in the arrays, whoever sends them.
TEST_F(FunctionalGradient, OfTensorArraysInLoops) {
  const Value x = input({3});
  const Value all = constant(graph_, Tensor::vector<std::int32_t>({0, 1, 2}));
  const TensorArrayOptions keep = {.element_shape = PartialShape::scalar(), .clear_after_read = false};
  const TensorArrayValue in = tensor_array_scatter(tensor_array(integer(3), DType::kFloat64, keep), all, x);
  const TensorArrayValue out = tensor_array(integer(3), DType::kFloat64, keep);
  const auto last = while_loop(
      {integer(0), real(1), out.flow}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        const Value next = sin(v[1]) * tensor_array_read(in, v[0]);
        const auto written = tensor_array_write({out.handle, v[2], DType::kFloat64}, v[0], next * next);
        return std::vector<Value>{v[0] + 1, next, written.flow};
      });
  const Value rows = tensor_array_gather({out.handle, last[2], DType::kFloat64}, all);
  const Value y = graph_.add("Sum", {rows * rows, integer(0)}) + tensor_array_read(in, integer(1));
  const auto dx = gradients(graph_, {y}, {x});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  const auto at = [&](double a, double b, double c) {
    feed(x, Tensor::vector<double>({a, b, c}));
    return run(y);
  };
  const double h = 1e-5;
  const double numeric[] = {(at(0.8 + h, 1.1, -0.6) - at(0.8 - h, 1.1, -0.6)) / (2 * h),
                            (at(0.8, 1.1 + h, -0.6) - at(0.8, 1.1 - h, -0.6)) / (2 * h),
                            (at(0.8, 1.1, -0.6 + h) - at(0.8, 1.1, -0.6 - h)) / (2 * h)};
  at(0.8, 1.1, -0.6);
  const auto got = try_run(dx[0]);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(got->at(0).data<double>()[i], numeric[i], 1e-6) << i;
}

// "bad" is an op without a gradient; what does not lie on the way to x may have it.
TEST_F(FunctionalGradient, MissingOnesNameTheWayThroughTheBody) {
  const Value x = input();
  const Value choice = cond_value(
      greater(x, 0),
      [&] {
        return graph_.add("Mod", {x * x, real(9)}, {}, "bad") + x;
      },
      [&] { return x * 2; }, "choice");
  const Value loss = choice * 3;
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  gradients(graph_, {loss}, {x});
  EXPECT_EQ(graph_.status().id(), "ARG-GRAD-002");
  EXPECT_THAT(graph_.status().message(), HasSubstr("'bad' lies on the path"));
  EXPECT_THAT(graph_.status().message(), testing::ContainsRegex("of node 'choice' on the path  Mul.* <- choice <- x"));
}

TEST_F(FunctionalGradient, WhatIsNotAskedForNeedsNone) {
  const Value x = input();
  const Value other = placeholder(graph_, DType::kFloat64, PartialShape::scalar(), "other");
  const auto last = while_loop(
      {integer(0), x, other}, [&](const auto& v) { return less(v[0], 2); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * v[1], graph_.add("Mod", {v[2], real(9)})};
      });
  feed(other, 1);
  check_gradient(last[1] + last[2], x, {0.7, -1.2});
}

}  // namespace
}  // namespace argosy
