#include "argosy/runtime/compile/order/schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace argosy {
namespace {

using ::testing::ElementsAre;

// Sums in a row, of values that are there from the start: nothing is offered twice.
TEST(Schedule, GroupsThatAreReadyAtTheStartLeaveOnce) {
  const std::int32_t zero[] = {0}, one[] = {1}, two[] = {2};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .group = 1},
                                                          {.device = 1, .group = 1},
                                                          {.device = 0, .after = zero, .group = 2},
                                                          {.device = 1, .after = one, .group = 2},
                                                          {.device = 0, .after = two}};
  const auto order = schedule(instructions, 2);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(0, 1, 2, 3, 4));
}

// The second group is ready first here, and the first one on another task.
TEST(Schedule, GroupsOverTasksLeaveInTheOrderOfTheirNumbers) {
  const std::int32_t zero[] = {0}, one[] = {1}, two[] = {2};
  const std::vector<ScheduledInstruction> instructions = {
      {.device = 0},
      {.device = 0, .after = zero},
      {.device = 0, .after = one},
      {.device = 0, .after = two, .group = 1, .cross_task_number = 4},
      {.device = 0, .group = 2, .cross_task_number = 7},
      {.device = 0, .group = 3}};
  const auto order = schedule(instructions, 1);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(5, 0, 1, 2, 3, 4));
}

// An update runs as soon as it can, and so do the scalars it waits for: the gradient it reads may go.
TEST(Schedule, LightInstructionsRunBeforeOthersThatAreReady) {
  const std::int32_t gradient[] = {1}, update[] = {1, 5};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0},                     // forwards
                                                          {.device = 0},                     // a gradient
                                                          {.device = 0, .after = gradient},  // the next
                                                          {.device = 0, .after = gradient},  // and the next
                                                          {.device = 0, .light = true, .after = update},  // its update
                                                          {.device = 0, .light = true}};  // the learning rate
  const auto order = schedule(instructions, 1);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(5, 0, 1, 4, 2, 3));
}

// Two turns of a forward and a backward pass, and an update.
TEST(Schedule, ATurnBeginsWhenTheEarlierOnesAreDone) {
  const std::int32_t a[] = {0}, b[] = {1}, both[] = {2, 3};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .turn = 0},
                                                          {.device = 0, .turn = 1},
                                                          {.device = 0, .after = a, .turn = 0},
                                                          {.device = 0, .after = b, .turn = 1},
                                                          {.device = 0, .after = both},
                                                          {.device = 0}};  // needed by nobody
  const auto order = schedule(instructions, 1);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(0, 2, 1, 3, 4, 5));
}

// What a copy brings to a turn takes memory from then on: it waits for the turn, though it has no mark.
TEST(Schedule, WhatATurnNeedsWaitsForIt) {
  const std::int32_t a[] = {0}, b[] = {1}, c[] = {2};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .first = true},
                                                          {.device = 0, .first = true},
                                                          {.device = 0, .after = a, .turn = 0},
                                                          {.device = 0, .after = b, .turn = 1},
                                                          {.device = 0, .after = c, .turn = 0}};
  const auto order = schedule(instructions, 1);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(0, 2, 4, 1, 3));
}

// A pass took the mark of the backward pass of turn 0, which a sum of turn 1 reads: it is of turn 0 none the less.
TEST(Schedule, WithoutAMarkItIsOfTheTurnOfWhatItReads) {
  const std::int32_t a[] = {0}, b[] = {1}, both[] = {2, 3};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .turn = 0},
                                                          {.device = 0, .turn = 1},
                                                          {.device = 0, .after = a},
                                                          {.device = 0, .after = b},
                                                          {.device = 0, .after = both, .turn = 1}};
  const auto order = schedule(instructions, 1);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  EXPECT_THAT(*order, ElementsAre(0, 2, 1, 3, 4));
}

// A sum over all turns of both devices, in the midst of each: what it needs comes first, and no more.
TEST(Schedule, TurnsInterleaveWhereOneWaitsForAnother) {
  std::vector<std::vector<std::int32_t>> after = {{},     {},     {},  {},   // 0-3: weights of device 0, 0, 1, 1
                                                  {0, 1}, {2, 3},            // 4, 5: their sum
                                                  {4},    {4},    {5}, {5},  // 6-9: backward passes
                                                  {},     {}};  // 10, 11: turns of device 0 that need no sum
  const int device[] = {0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0}, turn[] = {0, 1, 0, 1, -1, -1, 0, 1, 0, 1, 0, 1};
  std::vector<ScheduledInstruction> instructions;
  for (std::size_t i = 0; i < after.size(); ++i) {
    instructions.push_back({.device = device[i],
                            .async = i == 4 || i == 5,
                            .after = after[i],
                            .group = i == 4 || i == 5 ? 1 : 0,
                            .turn = turn[i]});
  }
  const auto order = schedule(instructions, 2);
  ASSERT_TRUE(order.ok()) << order.status().to_string();
  ASSERT_EQ(order->size(), instructions.size());
  const auto at = [&](std::int32_t i) { return std::find(order->begin(), order->end(), i) - order->begin(); };
  EXPECT_LT(at(1), at(4)) << "turn 1's weight is asked for by turn 0";
  EXPECT_LT(at(10), at(7)) << "all of turn 0 comes before the rest of turn 1";
  EXPECT_LT(at(6), at(7));
  EXPECT_LT(at(6), at(11));
  EXPECT_LT(at(8), at(9));
}

// Graphs, turns and groups at random. Groups have numbers in an order in which the graph allows them, as several tasks that
// know nothing of turns have settled.
TEST(Schedule, TurnsAndGroupsOverTasksNeverWaitForEachOther) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    const int devices = 1 + below(3), turns = 1 + below(4);
    std::vector<std::vector<std::int32_t>> after;
    std::vector<ScheduledInstruction> list;
    const auto add = [&](ScheduledInstruction one) {
      std::vector<std::int32_t> before;
      for (int k = below(3); k > 0 && !list.empty(); --k) before.push_back(below(list.size()));
      after.push_back(before);
      one.turn = below(3) == 0 ? -1 : below(static_cast<std::size_t>(turns));
      one.light = below(4) == 0;
      list.push_back(one);
    };
    std::int32_t groups = 0, number = 0;
    for (int i = 0; i < 60; ++i) {
      if (below(4) != 0) {
        add({.device = below(static_cast<std::size_t>(devices))});
        continue;
      }
      const std::int32_t group = ++groups, over = below(3) == 0 ? -1 : (number += 1 + below(3));
      const std::size_t known = list.size();
      for (int d = 0; d < devices; ++d) {
        add({.device = d, .async = true, .group = group, .cross_task_number = over});
        // Members do not wait for each other.
        std::erase_if(after.back(), [&](std::int32_t b) { return static_cast<std::size_t>(b) >= known; });
      }
    }
    for (std::size_t i = 0; i < list.size(); ++i) list[i].after = after[i];
    const auto order = schedule(list, devices);
    ASSERT_TRUE(order.ok()) << "seed " << seed << ": " << order.status().to_string();
    std::vector<std::size_t> at(list.size());
    for (std::size_t p = 0; p < order->size(); ++p) at[static_cast<std::size_t>((*order)[p])] = p;
    std::int32_t last = -1;
    for (std::size_t p = 0; p < order->size(); ++p) {
      const auto i = static_cast<std::size_t>((*order)[p]);
      for (const std::int32_t b : after[i]) ASSERT_LT(at[static_cast<std::size_t>(b)], p) << "seed " << seed;
      if (list[i].cross_task_number < 0) continue;
      ASSERT_GE(list[i].cross_task_number, last) << "seed " << seed;
      last = list[i].cross_task_number;
    }
  }
}

TEST(Schedule, ACycleIsAnError) {
  const std::int32_t zero[] = {0}, one[] = {1};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .after = one}, {.device = 0, .after = zero}};
  EXPECT_FALSE(schedule(instructions, 1).ok());
}

}  // namespace
}  // namespace argosy
