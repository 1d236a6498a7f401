#include "argosy/passes/place/resolve_collective_groups.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

// The attributes that the pass gives are none of the op's: a text cannot be read with them, only written.
TEST(ResolveCollectiveGroups, MembersGetGroupRankAndSize) {
  StepGraph step = parse_step(R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    b = NcclAllReduce(x) [reduction="sum", num_devices=2, shared_name="g"] @/gpu:1
    a = NcclAllReduce(x) [reduction="sum", num_devices=2, shared_name="g"] @/gpu:0
    -> a, b)");
  EXPECT_EQ(*resolve_collective_groups(step), 1);
  EXPECT_EQ("\n" + step_text(step), R"(
a = NcclAllReduce(x) [T=float, group="nccl g", num_devices=2, rank=0, reduction="sum", shared_name="g", size=2] @/gpu:0
b = NcclAllReduce(x) [T=float, group="nccl g", num_devices=2, rank=1, reduction="sum", shared_name="g", size=2] @/gpu:1
x = Placeholder [dtype=float, shape=shape[2]]
-> a, b)");
}

TEST(ResolveCollectiveGroups, GraphsWithoutGroupsAreLeftAlone) {
  expect_left_alone(resolve_collective_groups, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    y = Neg(x)
    -> y)");
}

}  // namespace
}  // namespace argosy
