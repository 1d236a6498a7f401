#include "argosy/cluster/coordinator/first_cause.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(FirstCause, OwnErrorDecidesAtOnce) {
  FirstCause first;
  first.report(CauseKind::kOwn, invalid_argument("nan"), 0);
  EXPECT_EQ(first.status().message(), "nan");
  first.report(CauseKind::kOwn, invalid_argument("later"), 1);
  EXPECT_EQ(first.status().message(), "nan");
}

TEST(FirstCause, ErrorThatFollowsWaitsForTheOneItFollowsFrom) {
  FirstCause first;
  first.report(CauseKind::kFollows, unavailable("peer closed"), 0);
  EXPECT_FALSE(first.decide(50 * kMs));
  EXPECT_TRUE(first.status().ok());
  first.report(CauseKind::kLost, unavailable("task 1 is gone"), 80 * kMs);
  EXPECT_EQ(first.status().message(), "task 1 is gone");
}

TEST(FirstCause, ErrorThatFollowsDecidesAlone) {
  FirstCause first;
  first.report(CauseKind::kFollows, unavailable("peer closed"), 0);
  first.report(CauseKind::kFollows, cancelled("other"), 10 * kMs);
  EXPECT_FALSE(first.decide(99 * kMs));
  EXPECT_TRUE(first.decide(100 * kMs));
  EXPECT_FALSE(first.decide(101 * kMs));
  EXPECT_EQ(first.status().message(), "peer closed");
}

TEST(FirstCause, NamesTheTaskOnce) {
  const Status own = invalid_argument("nan").with_where("node 'x'").with_hint("--lr");
  const Status told = with_task(own, 3, "gpu-b");
  EXPECT_EQ(told.where(), "node 'x', task 3 (gpu-b)");
  EXPECT_EQ(told.hint(), "--lr");
  EXPECT_EQ(with_task(told, 4, "c").where(), told.where());
  EXPECT_EQ(with_task(cancelled("x"), 0, "").where(), "task 0");
}

}  // namespace
}  // namespace argosy
