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
  expect_left_alone([](StepGraph& step) { return resolve_collective_groups(step); }, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    y = Neg(x)
    -> y)");
}

const char* const kOneMember = R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = CollectiveReduce(x) [group_size=2, group_key=1, instance_key=7, merge_op="Add", final_op="Id", subdiv_offsets=[0]] @/job:worker/task:0
    -> a)";

TEST(ResolveCollectiveGroups, OverTasksMembersOfOtherStepsAreMetLater) {
  StepGraph alone = parse_step(kOneMember);
  EXPECT_EQ(resolve_collective_groups(alone).status().id(), "ARG-GROUP-004");
  StepGraph step = parse_step(kOneMember);
  EXPECT_EQ(*resolve_collective_groups(step, /*over_tasks=*/true), 0);
  int met = 0;
  for (const Node& n : step.graph.nodes()) met += meets_by_key(n) ? 1 : 0;
  EXPECT_EQ(met, 1);
  // TensorFlow's hash of the instance key 7.
  EXPECT_EQ(*collective_graph_key(step.graph),
            static_cast<std::int64_t>(7 ^ (0x8774aa605c729c72 + 0x9e3779b97f4a7800 + (7 << 10) + 0)));
}

TEST(ResolveCollectiveGroups, OverTasksAGroupOfOneTaskMeetsInItsStep) {
  const auto pair = [](int second) {
    return parse_step(str_cat(R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = CollectiveReduce(x) [group_size=2, group_key=1, instance_key=7, merge_op="Add", final_op="Id", subdiv_offsets=[0]] @/job:worker/task:0/device:GPU:0
    b = CollectiveReduce(x) [group_size=2, group_key=1, instance_key=7, merge_op="Add", final_op="Id", subdiv_offsets=[0]] @/job:worker/task:)",
                              second, "/device:GPU:1\n    -> a, b"));
  };
  StepGraph here = pair(0);
  EXPECT_EQ(*resolve_collective_groups(here, true), 1);
  EXPECT_FALSE(collective_graph_key(here.graph));
  StepGraph apart = pair(1);
  EXPECT_EQ(*resolve_collective_groups(apart, true), 0);
  EXPECT_TRUE(collective_graph_key(apart.graph));
}

TEST(ResolveCollectiveGroups, OverTasksKeysMayBeComputed) {
  const char* const text = R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    k = Placeholder [dtype=int32, shape=shape[]]
    a = CollectiveReduceV2(x, k, k, k) [merge_op="Add", final_op="Id"]
    -> a)";
  StepGraph alone = parse_step(text);
  EXPECT_EQ(resolve_collective_groups(alone).status().id(), "ARG-GROUP-001");
  StepGraph step = parse_step(text);
  EXPECT_EQ(*resolve_collective_groups(step, true), 0);
  EXPECT_EQ(*collective_graph_key(step.graph), static_cast<std::int64_t>(0x8774aa605c729c72));
}

TEST(ResolveCollectiveGroups, OverTasksNcclsGroupsStillNeedAllTheirMembers) {
  StepGraph step = parse_step(R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = NcclAllReduce(x) [reduction="sum", num_devices=2, shared_name="g"] @/gpu:1
    -> a)");
  EXPECT_EQ(resolve_collective_groups(step, true).status().id(), "ARG-GROUP-004");
}

}  // namespace
}  // namespace argosy
