#include "argosy/tf/worker/collective/group_table.h"

#include <gtest/gtest.h>

#include "argosy/tf/worker/collective/collective_messages.h"

namespace argosy::tf {
namespace {

DeviceSpec device(int task, std::uint64_t incarnation = 7, int id = 0) {
  DeviceSpec spec;
  spec.name = {"worker", 0, task, "CPU", id};
  spec.incarnation = incarnation;
  return spec;
}

class GroupTableTest : public testing::Test {
 protected:
  // The group as the member was told: "", while it waits.
  struct Member {
    Status status;
    std::shared_ptr<const Group> group;
    bool told = false;
  };
  std::shared_ptr<Member> join(const DeviceSpec& spec, int size, int group = 1, const std::string& type = "CPU") {
    auto member = std::make_shared<Member>();
    table_.join({.name = "r", .group = group, .size = size, .device_type = type, .device = spec},
                [member](Result<std::shared_ptr<const Group>> joined) {
                  EXPECT_FALSE(member->told);
                  member->told = true;
                  member->status = joined.status();
                  if (joined.ok()) member->group = *joined;
                });
    return member;
  }
  std::shared_ptr<std::pair<Status, int>> instance(int task, bool source, int kind = KeyedMember::kBroadcast,
                                                   DType dtype = DType::kFloat32) {
    auto told = std::make_shared<std::pair<Status, int>>(unavailable("waits"), -2);
    table_.join_instance({.group = 1,
                          .instance = 3,
                          .kind = kind,
                          .dtype = dtype,
                          .device = device(task).name.to_string(),
                          .source = source},
                         [told](Result<int> rank) {
                           *told = {rank.status(), rank.ok() ? *rank : -2};
                         });
    return told;
  }
  GroupTable table_;
};

TEST_F(GroupTableTest, MembersWaitForAllAndAreRankedByTheirNumbers) {
  const auto a = join(device(10), 3);
  const auto b = join(device(2), 3);
  EXPECT_FALSE(a->told || b->told);
  const auto c = join(device(2, 7, 1), 3);
  ASSERT_TRUE(a->told && b->told && c->told);
  EXPECT_EQ(a->group->rank_of(device(2).name.to_string()), 0);
  EXPECT_EQ(a->group->rank_of(device(2, 7, 1).name.to_string()), 1);
  EXPECT_EQ(a->group->rank_of(device(10).name.to_string()), 2);
  EXPECT_EQ(a->group->tasks, 2);
  EXPECT_TRUE(join(device(2), 3)->told) << "a member that comes again is told at once";
}

TEST_F(GroupTableTest, ADisagreementIsToldToAllInTensorFlowsWords) {
  const auto a = join(device(0), 2);
  const auto b = join(device(1), 3);
  const std::string words = "Collective Op r has group_size 3 and group_key 1 but that group has size 2";
  EXPECT_EQ(a->status.message(), words);
  EXPECT_EQ(b->status.message(), words);
  EXPECT_EQ(join(device(2), 2)->status.message(), words) << "who comes late hears of it, too";
  EXPECT_FALSE(join(device(0), 2)->told) << "who has heard of it starts anew";

  (void)join(device(0), 2, 9);
  EXPECT_EQ(join(device(1), 2, 9, "GPU")->status.message(),
            "Collective Op r is assigned to device /job:worker/replica:0/task:1/device:CPU:0 with type GPU and "
            "group_key 9 but that group has type CPU");
}

TEST_F(GroupTableTest, AFullGroupTakesNoOther) {
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  EXPECT_EQ(join(device(2), 2)->status.message(),
            "Collective Op r is assigned to device /job:worker/replica:0/task:2/device:CPU:0 and group_key 1 but that "
            "group doesn't contain that device.");
}

TEST_F(GroupTableTest, AMemberThatWasStartedAgainMakesTheGroupAnew) {
  (void)join(device(0), 2);
  const auto b = join(device(1), 2);
  const auto again = join(device(1, 8), 2);
  EXPECT_FALSE(again->told);
  EXPECT_FALSE(join(device(0), 2)->group == nullptr);
  ASSERT_TRUE(again->told);
  EXPECT_EQ(again->group->members[1].incarnation, 8u);
  EXPECT_EQ(b->group->members[1].incarnation, 7u);

  // One that waits is taken in its new life.
  (void)join(device(3), 2, 4);
  (void)join(device(3, 9), 2, 4);
  EXPECT_EQ(join(device(4), 2, 4)->group->members[0].incarnation, 9u);
}

TEST_F(GroupTableTest, OfABroadcastOneSends) {
  EXPECT_EQ(instance(0, false)->first.id(), "ARG-CLUSTER-106");
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  const auto a = instance(0, false);
  EXPECT_EQ(a->second, -2);
  const auto b = instance(1, true);
  EXPECT_EQ(a->second, 1);
  EXPECT_EQ(b->second, 1);
  EXPECT_EQ(instance(0, false)->second, 1);
  EXPECT_EQ(instance(0, false, KeyedMember::kBroadcast, DType::kInt32)->first.message(),
            "Collective instance 3 expected type 1 and data_type 1 but got type 1 and data_type 3");
}

TEST_F(GroupTableTest, ABroadcastWithoutASenderOrWithTwoIsAnError) {
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  const auto a = instance(0, false);
  (void)instance(1, false);
  EXPECT_EQ(a->first.message(),
            "Instance 3 found no source for broadcast.  This could mean that there were group_size=2 BcastRecvs but no "
            "BcastSend.");
  table_.forget(1, aborted("over"));
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  (void)instance(0, true);
  EXPECT_EQ(instance(1, true)->first.message(), "Instance 3 already has source 0, received second claim from 1");
}

TEST_F(GroupTableTest, AGroupThatIsBeingMadeIsNotForgotten) {
  const auto a = join(device(0), 2);
  table_.forget(1, aborted("over"));
  EXPECT_FALSE(a->told);
  table_.forget_all(unavailable("the server stops"));
  EXPECT_EQ(a->status.message(), "the server stops");
}

TEST(CollectiveMessages, GroupsAndMembersCross) {
  const auto read = [](const std::vector<WirePiece>& pieces) { return joined(pieces); };
  const std::string text = read(write_complete_group(
      {.name = "", .group = -5, .size = 2, .device_type = "CPU", .device = device(3, 0xffffffffffffffff)}, 0));
  const std::string_view views[] = {text};
  const auto request = read_complete_group(WireReader(views));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->group, -5);
  EXPECT_EQ(request->device.incarnation, 0xffffffffffffffff);
  const std::string_view none[] = {std::string_view("\x08\x01\x10\x02", 4)};
  EXPECT_EQ(read_complete_group(WireReader(none)).status().id(), "ARG-CLUSTER-116");

  Group group{.key = 1, .device_type = "CPU", .members = {device(1), device(0)}, .tasks = 2, .communicator = "x"};
  const std::string told = read(write_group(group));
  const std::string_view pieces[] = {told};
  const auto got = read_group(WireReader(pieces));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->rank_of(device(0).name.to_string()), 0);
}

}  // namespace
}  // namespace argosy::tf
