// Values with operators: graphs written as formulas.
#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }

TEST(Operators, ReadAsMathematics) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2});
  const Value y = 2 * x + 1.0 / (x - 3) - -x;
  const auto dy = gradients(g, {y}, {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {{x.endpoint(), floats({1, 4})}}, {y.endpoint(), dy[0].endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], floats({2.5, 13}), 1e-6), "");
  EXPECT_EQ(difference((*out)[1], floats({2.75, 2}), 1e-6), "");
}

TEST(Operators, NumbersMustFit) {
  Graph g;
  const Value n = constant(g, 7);
  EXPECT_EQ((n * 2).dtype(), DType::kInt32);
  EXPECT_FALSE((n * 2.5).valid());
  EXPECT_EQ(g.status().id(), "ARG-DTYPE-002");
}

}  // namespace
}  // namespace argosy
