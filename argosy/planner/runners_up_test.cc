#include "argosy/planner/runners_up.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

Tried tried(StrategySpec spec, double seconds, double compute, double exposed, std::uint64_t bytes = 1000) {
  Tried t{.strategy = spec, .devices = spec.dp, .predicted = {}, .bytes = bytes, .impossible = {}};
  t.predicted.step_seconds = seconds;
  t.predicted.compute = compute;
  t.predicted.exposed_collectives = exposed;
  return t;
}

TEST(RunnersUp, SayWhereTheTimeGoesAndWhatDoesNotFit) {
  const Tried chosen = tried({.dp = 2}, 0.010, 0.008, 0.001);
  Tried large = tried({.dp = 4}, 0, 0, 0);
  large.impossible = "does not fit: gpu:0 needs 2.0 GiB and may take 1.0 GiB";
  const auto told = runners_up(
      {large, tried({.dp = 1}, 0.018, 0.017, 0), chosen, tried({.dp = 3}, 0.013, 0.006, 0.006),
       tried({.dp = 2, .zero = 1}, 0.0101, 0.008, 0.001, 400), tried({.dp = 2, .accumulate = 2}, 0.006, 0.005, 0)},
      chosen);
  ASSERT_EQ(told.size(), 5u);
  EXPECT_EQ(told[0].strategy.to_string(), "dp=2,accumulate=2");
  EXPECT_EQ(told[0].why, "4.0 ms faster; it was not asked for");
  EXPECT_EQ(told[1].why, "as fast, and saves 600 B a device that nobody needs");
  EXPECT_EQ(told[2].why, "3.0 ms slower: 6.0 ms of collectives and 0 us of copies are not hidden");
  EXPECT_EQ(told[3].why, "8.0 ms slower: one device computes 17.0 ms (each device computes 8.0 ms)");
  EXPECT_EQ(told[4].why, "does not fit: gpu:0 needs 2.0 GiB and may take 1.0 GiB");
  EXPECT_FALSE(told[4].fits);
}

TEST(FastestThatFits, TakesMicroBatchesForMemoryNeverForTime) {
  Tried one = tried({.dp = 1}, 0.010, 0.010, 0), two = tried({.dp = 2}, 0.020, 0.010, 0.010);
  const Tried turns = tried({.dp = 1, .accumulate = 2}, 0.005, 0.005, 0);
  EXPECT_EQ(fastest_that_fits({one, two, turns}), 0u);
  one.impossible = "does not fit: gpu:0 needs 2.0 GiB and may take 1.0 GiB";
  EXPECT_EQ(fastest_that_fits({one, two, turns}), 1u);
  two.impossible = one.impossible;
  EXPECT_EQ(fastest_that_fits({one, two, turns}), 2u);
  EXPECT_EQ(fastest_that_fits({one, two}), std::nullopt);
}

TEST(FastestThatFits, TakesTheFirstOfEquallyFastOnes) {
  const Tried one = tried({.dp = 1}, 0.0101, 0.0101, 0), two = tried({.dp = 2}, 0.010, 0.005, 0.005);
  EXPECT_EQ(fastest_that_fits({one, two}), 0u);
  EXPECT_EQ(fastest_that_fits({tried({.dp = 1}, 0.0103, 0.0103, 0), two}), 1u);
}

TEST(RunnersUp, SecondsHaveTheUnitOfTheirSize) {
  EXPECT_EQ(format_seconds(2.345), "2.35 s");
  EXPECT_EQ(format_seconds(0.2), "200 ms");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.0000421), "42 us");
}

}  // namespace
}  // namespace argosy
