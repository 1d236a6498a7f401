#include "argosy/ops/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"

namespace argosy {
namespace {

// What the ops do is tried in sessions: tests/session/file_ops_test.cc.
TEST(Checkpoint, AsManyNamesAsTensors) {
  Graph g;
  const Value prefix = constant(g, std::string("p")), x = constant(g, 1.f);
  const Value one = constant(g, Tensor::vector<std::string>({"a"}));
  const Value two = constant(g, Tensor::vector<std::string>({"a", "b"}));
  EXPECT_TRUE(save(prefix, one, one, {x}).valid());
  EXPECT_TRUE(restore(prefix, two, two, {DType::kFloat32, DType::kInt64})[1].valid());
  EXPECT_TRUE(merge_checkpoints(two, prefix).valid());
  EXPECT_EQ(sharded_filename(prefix, constant(g, std::int32_t{0}), constant(g, std::int32_t{2})).shape().to_string(),
            "[]");
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  save(prefix, two, one, {x});
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
