#include "argosy/runtime/compile/storage/memory_plan.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

constexpr std::size_t kUnit = 1024;

void expect_apart(const std::vector<Lifetime>& lives, std::size_t bytes) {
  for (std::size_t a = 0; a < lives.size(); ++a) {
    EXPECT_GE(lives[a].offset, 0);
    EXPECT_LE(static_cast<std::size_t>(lives[a].offset) + lives[a].bytes, bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = lives[a].birth <= lives[b].death && lives[b].birth <= lives[a].death;
      const bool overlap = lives[a].offset < lives[b].offset + static_cast<std::int64_t>(lives[b].bytes) &&
                           lives[b].offset < lives[a].offset + static_cast<std::int64_t>(lives[a].bytes);
      EXPECT_FALSE(together && overlap) << a << " " << b;
    }
  }
}

TEST(MemoryPlan, APlaceIsUsedAgain) {
  std::vector<Lifetime> lives = {{0, 1, 4 * kUnit}, {1, 2, 2 * kUnit}, {2, 3, 4 * kUnit}};
  const ArenaPlan plan = plan_arena(lives);
  EXPECT_EQ(plan.bytes, 6 * kUnit);
  EXPECT_EQ(plan.live_bytes, 6 * kUnit);
  expect_apart(lives, plan.bytes);
}

// The gradient of a turn, born behind the activations of that turn, would bar the way to the larger ones of the next.
TEST(MemoryPlan, WhatStaysLongLiesApart) {
  std::vector<Lifetime> lives = {{0, 1, 4 * kUnit}, {1, 9, kUnit}, {2, 3, 5 * kUnit}, {4, 5, 6 * kUnit}, {9, 9, kUnit}};
  const ArenaPlan plan = plan_arena(lives);
  EXPECT_EQ(plan.live_bytes, 7 * kUnit);
  EXPECT_EQ(plan.bytes, 7 * kUnit);
  expect_apart(lives, plan.bytes);
}

TEST(MemoryPlan, NothingNeedsNothing) {
  std::vector<Lifetime> lives;
  EXPECT_EQ(plan_arena(lives).bytes, 0u);
}

}  // namespace
}  // namespace argosy
