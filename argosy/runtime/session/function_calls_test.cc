// Kernels that call functions of their graph while they run, and that keep them between steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/graph/function_body.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

// y = f(f(x)), calling f as it runs.
class Twice final : public Kernel {
 public:
  explicit Twice(std::shared_ptr<FunctionCall> call) : call_(std::move(call)) {}
  Status run(KernelContext& c) override {
    Tensor x = c.input(0);
    for (int i = 0; i < 2; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(auto out, call_->run({&x, 1}, &c.step()->cancellation()));
      x = std::move(out[0]);
    }
    c.set_output(0, std::move(x));
    return ok_status();
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    if (init.functions == nullptr) return invalid_argument("the graph has no functions");
    ARGOSY_ASSIGN_OR_RETURN(auto call, init.functions->prepare(init.attrs.get<FunctionRef>("f").name));
    return std::unique_ptr<Kernel>(std::make_unique<Twice>(std::move(call)));
  }

 private:
  const std::shared_ptr<FunctionCall> call_;
};

class FunctionCallsTest : public testing::Test {
 protected:
  FunctionCallsTest() {
    ops_.add({.name = "Twice",
              .doc = "f(f(x))",
              .inputs = {"x: T"},
              .outputs = {"y: T"},
              .attrs = {"T: type", "f: func"},
              .shape = same_as_input,
              .gradient = kNotDifferentiable,
              .stateful = true});
    kernels_.add("Twice", "cpu", Twice::make);
  }
  Result<std::vector<Tensor>> run(Graph& graph, Value y) {
    Session session(graph, {.devices = {.emulate = "2"}, .kernels = &kernels_});
    return session.run({y});
  }
  OpRegistry ops_ = copy_builtin_ops();
  KernelRegistry kernels_ = cpu_kernels();
};

TEST_F(FunctionCallsTest, RunTheirBodyOnTheHost) {
  Graph graph(ops_);
  const Value x = constant(graph, 3.0f);
  FunctionBody body(graph, "f");
  Value arg = body.parameter(DType::kFloat32, PartialShape::scalar());
  {
    const auto on = graph.device("/gpu:1");
    arg = arg * arg + constant(body.graph(), 1.0f);
  }
  const auto f = body.finish({arg});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  const Value y = graph.add("Twice", {x}, {{"f", FunctionRef{f->name}}});
  const auto out = run(graph, y);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(*(*out)[0].data<float>(), 101);
}

TEST_F(FunctionCallsTest, MayCallOthers) {
  Graph graph(ops_);
  const Value x = constant(graph, 2.0f);
  FunctionBody inner(graph, "double");
  const Value a = inner.parameter(DType::kFloat32, PartialShape::scalar());
  const auto twofold = inner.finish({a + a});
  FunctionBody outer(graph, "f");
  const Value b = outer.parameter(DType::kFloat32, PartialShape::scalar());
  const auto f = outer.finish({outer.graph().add("Twice", {b}, {{"f", FunctionRef{twofold->name}}})});
  const auto out = run(graph, graph.add("Twice", {x}, {{"f", FunctionRef{f->name}}}));
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(*(*out)[0].data<float>(), 32);
}

TEST_F(FunctionCallsTest, TellWhatIsWrong) {
  Graph graph(ops_);
  const Value x = constant(graph, 2.0f);
  FunctionBody body(graph, "f");
  const Value whole = body.parameter(DType::kInt32, PartialShape::scalar());
  const auto f = body.finish({whole});
  const auto unknown = run(graph, graph.add("Twice", {x}, {{"f", FunctionRef{"g"}}}));
  EXPECT_EQ(unknown.status().id(), "ARG-FN-005") << unknown.status().to_string();
  const auto misfit = run(graph, graph.add("Twice", {x}, {{"f", FunctionRef{f->name}}}));
  EXPECT_EQ(misfit.status().id(), "ARG-FN-006") << misfit.status().to_string();
  EXPECT_THAT(misfit.status().to_string(), HasSubstr("takes int32 as argument 0"));
}

// What f() gives when it is called twice, and then by two uses of it that begin anew.
class FourCalls final : public Kernel {
 public:
  explicit FourCalls(std::shared_ptr<FunctionCall> call) : call_(std::move(call)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {4}));
    float* to = y->data<float>();
    for (int i = 0; i < 4; ++i) {
      std::shared_ptr<FunctionCall> call = call_;
      if (i >= 2 && call->keeps_state()) {
        ARGOSY_ASSIGN_OR_RETURN(call, call_->anew());
      }
      ARGOSY_ASSIGN_OR_RETURN(const auto out, call->run({}, nullptr));
      *to++ = *out[0].data<float>();
    }
    return ok_status();
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto call, init.functions->prepare(init.attrs.get<FunctionRef>("f").name));
    return std::unique_ptr<Kernel>(std::make_unique<FourCalls>(std::move(call)));
  }

 private:
  const std::shared_ptr<FunctionCall> call_;
};

// The nodes of both bodies have one name.
TEST_F(FunctionCallsTest, EachKeepsAStateOfItsOwn) {
  ops_.add({.name = "FourCalls",
            .doc = "f(), four times",
            .outputs = {"y: float"},
            .attrs = {"f: func"},
            .shape = [](ShapeContext& c) { return c.set_output(0, PartialShape({4})), ok_status(); },
            .gradient = kNotDifferentiable,
            .stateful = true});
  kernels_.add("FourCalls", "cpu", FourCalls::make);
  Graph graph(ops_);
  const auto draws = [&](const char* name, std::int64_t seed) {
    FunctionBody body(graph, name);
    const Value shape = constant(body.graph(), Tensor::vector<std::int32_t>({}));
    const Value drawn =
        body.graph().add("RandomUniform", {shape}, {{"dtype", DType::kFloat32}, {"seed", 7}, {"seed2", seed}});
    const auto f = body.finish({drawn});
    return graph.add("FourCalls", {}, {{"f", FunctionRef{f->name}}});
  };
  const Value five = draws("a", 5), again = draws("b", 5), nine = draws("c", 9);
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  Session session(graph, {.devices = {.emulate = "2"}, .kernels = &kernels_});
  const auto out = session.run({five, again, nine});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  const auto first = (*out)[0].values<float>(), second = (*out)[1].values<float>(), third = (*out)[2].values<float>();
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(first[2], first[0]);
  EXPECT_EQ(first[3], first[0]);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_EQ(second[1], first[1]);
  EXPECT_NE(third[0], first[0]);
}

}  // namespace
}  // namespace argosy
