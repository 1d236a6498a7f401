#include "argosy/tf/worker/collective/group_table.h"

#include <gtest/gtest.h>

#include "argosy/tf/worker/collective/collective_messages.h"
#include "argosy/tf/worker/collective/step_numbers.h"

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
    std::int64_t number = 0;  // for cancel_join()
  };
  std::shared_ptr<Member> join(const DeviceSpec& spec, int size, int group = 1, const std::string& type = "CPU") {
    auto member = std::make_shared<Member>();
    member->number = table_.join({.group = group, .size = size, .device_type = type, .device = spec},
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

TEST_F(GroupTableTest, MembersWaitForAllAndAreRankedByTheirNames) {
  const auto a = join(device(10), 3);
  const auto b = join(device(2), 3);
  EXPECT_FALSE(a->told || b->told);
  const auto c = join(device(2, 7, 1), 3);
  ASSERT_TRUE(a->told && b->told && c->told);
  EXPECT_EQ(a->group->rank_of(device(10).name.to_string()), 0) << "as text";
  EXPECT_EQ(a->group->rank_of(device(2).name.to_string()), 1);
  EXPECT_EQ(a->group->rank_of(device(2, 7, 1).name.to_string()), 2);
  EXPECT_EQ(a->group->tasks, 2);
  EXPECT_TRUE(join(device(2), 3)->told) << "a member that comes again is told at once";
}

TEST_F(GroupTableTest, ADisagreementIsToldToAllInTensorFlowsWords) {
  const auto a = join(device(0), 2);
  const auto b = join(device(1), 3);
  const std::string words =
      "Device /job:worker/replica:0/task:1/device:CPU:0 is joining a group with size3, but that group has size 2 "
      "(group_key=1)";
  EXPECT_EQ(a->status.message(), words);
  EXPECT_EQ(b->status.message(), words);
  EXPECT_EQ(join(device(2), 2)->status.message(), words) << "who comes late hears of it, too";
  EXPECT_FALSE(join(device(0), 2)->told) << "who has heard of it starts anew";

  (void)join(device(0), 2, 9);
  EXPECT_EQ(join(device(1), 2, 9, "GPU")->status.message(),
            "Device /job:worker/replica:0/task:1/device:CPU:0 is joining a group with incompatible device typeCPU "
            "(group_key=9)");
}

TEST_F(GroupTableTest, AFullGroupTakesNoOther) {
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  EXPECT_EQ(join(device(2), 2)->status.message(),
            "Device /job:worker/replica:0/task:2/device:CPU:0 is joining a group that is already full (group_key=1)");
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

TEST(GroupInstances, TheLeadersMemoryIsBounded) {
  GroupInstances all;
  GroupInstances::Calls calls;
  Status last;
  const auto join = [&](std::int32_t instance) {
    all.join(
        {.instance = instance, .kind = KeyedMember::kBroadcast, .dtype = DType::kFloat32, .device = "a"}, 0, 2,
        [&](const Result<int>& rank) { last = rank.status(); }, calls);
  };
  const auto most = static_cast<std::int32_t>(GroupInstances::kMost);
  for (std::int32_t i = 0; i < most; ++i) join(i);
  EXPECT_TRUE(calls.empty());
  join(most);
  ASSERT_EQ(calls.size(), 1u);
  calls[0]();
  EXPECT_EQ(last.id(), "ARG-CLUSTER-127");
  join(0);
  EXPECT_EQ(calls.size(), 1u) << "who is known may come again";
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

TEST_F(GroupTableTest, WhoComesTooLateHearsWhyTheGroupIsGone) {
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  table_.forget(1, aborted("the other members disagree"));
  EXPECT_EQ(instance(0, true)->first.message(), "the other members disagree");
  (void)join(device(0), 2);
  EXPECT_EQ(instance(0, true)->first.id(), "ARG-CLUSTER-106") << "it is being made anew";
  (void)join(device(1), 2);
  (void)instance(0, false);
  EXPECT_EQ(instance(1, true)->second, 1);
}

TEST_F(GroupTableTest, AGroupThatIsBeingMadeIsNotForgotten) {
  const auto a = join(device(0), 2);
  table_.forget(1, aborted("over"));
  EXPECT_FALSE(a->told);
  table_.forget_all(unavailable("the server stops"));
  EXPECT_EQ(a->status.message(), "the server stops");
}

TEST_F(GroupTableTest, AGroupFailsWithAMemberThatGivesUp) {
  const auto a = join(device(0), 3);
  const auto b = join(device(1), 3);
  table_.cancel_join(1, b->number);
  EXPECT_EQ(a->status.code(), Code::kCancelled);
  EXPECT_EQ(a->status.message(), "group is cancelled: a member gave up when 2 of 3 were there");
  EXPECT_EQ(table_.size(), 0u);
  (void)join(device(0), 3);
  (void)join(device(1), 3);
  table_.cancel_join(1, b->number);  // of its earlier call
  const auto again = join(device(2), 3);
  ASSERT_NE(again->group, nullptr) << "the next step makes the group anew";
  table_.cancel_join(1, again->number);
  EXPECT_TRUE(join(device(0), 3)->told) << "a complete group stays";
}

TEST_F(GroupTableTest, ItsMemoryIsBounded) {
  (void)join(device(0), 2, -1);
  (void)join(device(1), 2, -1);
  const auto waits = join(device(0), 2, -2);
  for (int key = 0; key < 100'000; ++key) {
    const auto member = join(device(0), 2, key);
    table_.cancel_join(key, member->number);
    ASSERT_LE(table_.size(), GroupTable::kFailed + 2);
  }
  EXPECT_FALSE(waits->told) << "it is neither old nor failed";
  (void)join(device(1), 2, -2);
  EXPECT_TRUE(waits->group != nullptr && join(device(0), 2, -1)->group != nullptr);
  std::shared_ptr<Member> last;
  for (int key = 0; key < 100'000; ++key) {
    last = join(device(0), 1, 200'000 + key);
    ASSERT_LE(table_.size(), GroupTable::kFailed + GroupTable::kComplete);
  }
  EXPECT_EQ(last->status.id(), "ARG-CLUSTER-127");
  EXPECT_NE(join(device(0), 2, -1)->group, nullptr) << "what is complete goes on";
}

TEST_F(GroupTableTest, SoAreItsInstances) {
  (void)join(device(0), 2);
  (void)join(device(1), 2);
  int told = 0, refused = 0;
  const auto ask = [&](int key, int kind) {
    table_.join_instance({.group = 1,
                          .instance = key,
                          .kind = kind,
                          .dtype = DType::kFloat32,
                          .device = device(0).name.to_string(),
                          .source = false},
                         [&](Result<int> source) { ++(source.ok() ? told : refused); });
  };
  for (int key = 0; key < 300'000; ++key) ask(key, KeyedMember::kReduction);
  EXPECT_EQ(told, 300'000);
  EXPECT_EQ(refused, 0);
  // Of broadcasts that wait for the others only so many are taken.
  for (int key = 0; key < 300'000; ++key) ask(1'000'000 + key, KeyedMember::kBroadcast);
  EXPECT_GT(refused, 100'000);
  EXPECT_EQ(told, 300'000);
  table_.forget_all(unavailable("over"));
}

TEST(StepNumbers, OfGraphsOfOthersTheOldestAreForgotten) {
  StepNumbers numbers;
  Cancellation never;
  ASSERT_TRUE(numbers.enter(-5, never).ok());
  const std::int64_t own = numbers.known_or_new(-5);
  const std::int64_t other = numbers.known_or_new(-6);
  EXPECT_EQ(numbers.known_or_new(-6), other);
  for (int graph = 0; graph < 200'000; ++graph) (void)numbers.known_or_new(graph);
  EXPECT_LT(numbers.size(), 70'000u);
  EXPECT_EQ(numbers.known_or_new(-5), own) << "one that this task runs";
}

TEST(CollectiveMessages, AnInstanceTellsItsRings) {
  const InstanceRequest request{.group = 1, .instance = 2, .device = "d", .ring_offsets = {0, -1}};
  const std::string text = joined(write_complete_instance(request, KeyedMember{}));
  const std::string_view views[] = {text};
  const auto got = read_complete_instance(WireReader(views));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->ring_offsets, request.ring_offsets);
}

TEST(CollectiveMessages, GroupsAndMembersCross) {
  const auto read = [](const std::vector<WirePiece>& pieces) { return joined(pieces); };
  const std::string text = read(
      write_complete_group({.group = -5, .size = 2, .device_type = "CPU", .device = device(3, 0xffffffffffffffff)}, 0));
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
