// Helpers of the tests of functional control flow. Every graph runs twice, and both results must agree: by the
// evaluator, which calls functions, and by a session, which lowers them to dataflow.
#pragma once

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
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {

using testing::HasSubstr;

class FunctionalTest : public testing::Test {
 protected:
  explicit FunctionalTest(SessionOptions options = {}) : session_(graph_, std::move(options)) {}

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
    // Of a reference, the evaluator gives the handle and a session the value.
    if (called.ok() && lowered.ok() && (*called)[0].valid() && (*called)[0].dtype() != DType::kResource) {
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
  Value integer(std::int32_t v) { return constant(graph_, v); }

  Graph graph_;
  ResourceManager resources_;
  TestSession session_;
  Feeds feeds_;
};

}  // namespace argosy
