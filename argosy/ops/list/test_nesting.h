// A check that tests share: how deep variant values may be nested.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/tensor/nesting.h"

namespace argosy {

// Checks an op whose output is a variant scalar that holds its variant input. kMostNested of them in each other are
// accepted and can be freed; one more is RESOURCE_EXHAUSTED.
inline void check_nesting_of_op(const char* op, const std::function<Value(Graph&, Value)>& around) {
  SCOPED_TRACE(op);
  Graph g;
  const Value x = placeholder(g, DType::kVariant, PartialShape::scalar(), "x");
  const Value y = around(g, x);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  Tensor value = Tensor::zeros(DType::kVariant, {});
  for (int depth = 1; depth <= kMostNested; ++depth) {
    auto out = evaluate(g, {{x.endpoint(), value}}, {y.endpoint()});
    ASSERT_TRUE(out.ok()) << depth << ": " << out.status().to_string();
    value = (*out)[0];
    ASSERT_EQ(nesting_of(value), depth);
  }
  const Status refused = evaluate(g, {{x.endpoint(), value}}, {y.endpoint()}).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.to_string();
  for (const char* part : {"1001 deep", "1000 levels are allowed", op}) {
    EXPECT_NE(refused.to_string().find(part), std::string::npos) << refused.to_string();
  }
}

}  // namespace argosy
