#include "argosy/strategy/data_parallel.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/testing/op_case.h"

namespace argosy {
namespace {

TEST(DataParallel, NeedsABatch) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, 3});
  const auto made = DataParallel::make(g, {.devices = {"/device:CPU:0"}, .loss = x});
  EXPECT_EQ(made.status().id(), "ARG-DP-001");
}

TEST(DataParallel, ForwardOnlyIsConcatenated) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2});
  const Value w = constant(g, Tensor::of<float>({2, 1}, {1, 10}));
  const Value y = matmul(x, w);
  auto dp = DataParallel::make(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}});
  ASSERT_TRUE(dp.ok()) << dp.status().to_string();
  const auto whole = dp->fetch(y);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
}

}  // namespace
}  // namespace argosy
