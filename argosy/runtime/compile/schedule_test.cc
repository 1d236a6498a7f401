#include "argosy/runtime/compile/schedule.h"

#include <gmock/gmock.h>

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

TEST(Schedule, ACycleIsAnError) {
  const std::int32_t zero[] = {0}, one[] = {1};
  const std::vector<ScheduledInstruction> instructions = {{.device = 0, .after = one}, {.device = 0, .after = zero}};
  EXPECT_FALSE(schedule(instructions, 1).ok());
}

}  // namespace
}  // namespace argosy
