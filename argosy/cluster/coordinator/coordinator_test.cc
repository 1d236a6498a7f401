// The coordinator's rules, with a clock of the test's own.
#include "argosy/cluster/coordinator/coordinator.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace argosy {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

class HandClock final : public Clock {
 public:
  std::int64_t now_nanos() const override { return now_; }
  void advance(std::int64_t nanos) { now_ += nanos; }

 private:
  std::atomic<std::int64_t> now_{1'000'000'000'000};
};

class CoordinatorTest : public testing::Test {
 protected:
  static JoinCall call(int rank, std::uint64_t incarnation = 0) {
    return {.job = "j",
            .version = "1",
            .size = 3,
            .task = {.rank = rank,
                     .host = str_cat("host-", rank),
                     .address = {},
                     .incarnation = incarnation != 0 ? incarnation : 100 + static_cast<std::uint64_t>(rank),
                     .devices = {"cpu:0"}},
            .program = {{"--batch", "64"}}};
  }
  CallerId caller(int rank) const { return {rank, 100 + static_cast<std::uint64_t>(rank), coordinator_.incarnation()}; }
  Result<bool> join(const JoinCall& c, milliseconds most = milliseconds(0)) {
    return coordinator_.join(c, open_, most);
  }
  void all_join() {
    for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(join(call(rank)).ok());
    ASSERT_TRUE(*join(call(0)));
  }
  // Lets time pass as the server's thread does.
  void pass(std::int64_t nanos) {
    for (std::int64_t done = 0; done < nanos; done += 20 * kMs) {
      clock_.advance(20 * kMs);
      coordinator_.tick();
    }
  }

  HandClock clock_;
  Cancellation open_;
  Coordinator coordinator_{{.own = call(0), .hosts = {}}, clock_};
};

TEST_F(CoordinatorTest, WaitsForAllInAnyOrder) {
  EXPECT_FALSE(*join(call(2)));
  EXPECT_THAT(coordinator_.waiting(), HasSubstr("2 of 3 tasks: 0, 1"));
  EXPECT_FALSE(*join(call(0)));
  EXPECT_TRUE(*join(call(1)));
  EXPECT_TRUE(*join(call(2)));
  EXPECT_EQ(coordinator_.tasks()[2].host, "host-2");
}

TEST_F(CoordinatorTest, ForgetsWhoWentAwayBeforeTheJobBegan) {
  EXPECT_FALSE(*join(call(1)));
  clock_.advance(4'000 * kMs);
  EXPECT_FALSE(*join(call(0)));
  EXPECT_FALSE(*join(call(2)));
  EXPECT_TRUE(*join(call(1, 7)));  // started again
}

TEST_F(CoordinatorTest, RefusesASecondProcessOfOneRank) {
  EXPECT_FALSE(*join(call(1)));
  const Status second = join(call(1, 7)).status();
  EXPECT_EQ(second.id(), "ARG-CLUSTER-037") << second.to_string();
  EXPECT_TRUE(coordinator_.cause().ok());
}

TEST_F(CoordinatorTest, OtherJobIsNoReasonToEnd) {
  JoinCall other = call(1);
  other.job = "k";
  EXPECT_EQ(join(other).status().id(), "ARG-CLUSTER-033");
  EXPECT_TRUE(coordinator_.cause().ok());
}

TEST_F(CoordinatorTest, OtherVersionEndsTheJobAndIsNamed) {
  JoinCall other = call(1);
  other.version = "2";
  EXPECT_EQ(join(other).status().id(), "ARG-CLUSTER-035");
  const Status cause = join(call(0)).status();
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-035");
  EXPECT_EQ(cause.where(), "task 1 (host-1)");
}

TEST_F(CoordinatorTest, OtherOptionIsNamedWithBothValues) {
  JoinCall other = call(1);
  other.program = {{"--batch", "32"}};
  EXPECT_THAT(join(other).status().message(), HasSubstr("--batch is 32 there and 64 on task 0"));
  EXPECT_EQ(program_difference(call(0), call(1)), "");
  other.program = {{"--batch", "64"}, {"--lr", "1"}};
  EXPECT_THAT(program_difference(call(0), other), HasSubstr("--lr is 1 there and not given"));
  other.program = {};
  EXPECT_THAT(program_difference(call(0), other), HasSubstr("--batch is not given there and 64"));
  other.size = 4;
  EXPECT_THAT(program_difference(call(0), other), HasSubstr("number of tasks is 4"));
}

TEST_F(CoordinatorTest, ThreeMissedHeartbeatsAreALostTask) {
  all_join();
  for (int second = 0; second < 3; ++second) {
    EXPECT_TRUE(coordinator_.pulse(caller(0), 5, "").ok());
    EXPECT_TRUE(coordinator_.pulse(caller(2), 5, "").ok());
    if (second == 0) {
      EXPECT_TRUE(coordinator_.pulse(caller(1), 4, "input").ok());
    }
    pass(980 * kMs);
    EXPECT_TRUE(coordinator_.cause().ok()) << second;
  }
  pass(100 * kMs);
  const Status cause = coordinator_.cause();
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-045") << cause.to_string();
  EXPECT_THAT(cause.message(),
              HasSubstr("task 1 (host-1) is gone: no heartbeat for 3.0 s; last heard at step 4, input"));
  EXPECT_EQ(coordinator_.pulse(caller(0), 6, "").message(), cause.message());
}

// Heartbeats come, and nothing else.
TEST_F(CoordinatorTest, ATaskWithoutProgressEndsTheJobAndIsNamed) {
  all_join();
  const auto pulses = [&](int second, bool stuck) {
    (void)coordinator_.pulse(caller(0), 8, "a training step", stuck ? "all-reduce_2" : "");
    (void)coordinator_.pulse(caller(1), stuck ? 8 : 8 + second, "reading its rows");
    (void)coordinator_.pulse(caller(2), 8, "a training step", stuck ? "all-reduce_2" : "");
    pass(1000 * kMs);
  };
  for (int second = 0; second < 300; ++second) pulses(second, false);  // one works, and nobody waits
  EXPECT_TRUE(coordinator_.cause().ok()) << coordinator_.cause().to_string();
  for (int second = 0; second < 235; ++second) pulses(second, true);
  EXPECT_TRUE(coordinator_.cause().ok()) << coordinator_.cause().to_string();
  for (int second = 0; second < 10; ++second) pulses(second, true);
  const Status cause = coordinator_.cause();
  EXPECT_EQ(cause.id(), "ARG-CLUSTER-125") << cause.to_string();
  EXPECT_EQ(cause.where(), "task 1 (host-1)");
  EXPECT_THAT(cause.message(), HasSubstr("task 1 (host-1) makes no progress for 240.0 s: at step 8, reading its rows; "
                                         "tasks 0, 2 wait for it, at step 8, a training step, waits in all-reduce_2"));
}

TEST_F(CoordinatorTest, WhereAllWaitForEachOtherTheOneBehindIsNamed) {
  CoordinatorOptions options{.own = call(0), .hosts = {}, .stuck_after = milliseconds(5000)};
  Coordinator coordinator(options, clock_);
  for (int rank = 0; rank < 3; ++rank) (void)coordinator.join(call(rank), open_, milliseconds(0));
  const auto caller_of = [&](int rank) {
    return CallerId{rank, 100 + static_cast<std::uint64_t>(rank), coordinator.incarnation()};
  };
  const auto pass_second = [&](bool waits) {
    for (int rank = 0; rank < 3; ++rank) {
      (void)coordinator.pulse(caller_of(rank), rank == 2 ? 6 : 7, "a training step", waits ? "sum" : "");
    }
    for (int i = 0; i < 50; ++i) {
      clock_.advance(20 * kMs);
      coordinator.tick();
    }
  };
  for (int second = 0; second < 20; ++second) pass_second(false);  // all compute: nobody waits
  EXPECT_TRUE(coordinator.cause().ok());
  for (int second = 0; second < 7; ++second) pass_second(true);
  EXPECT_EQ(coordinator.cause().id(), "ARG-CLUSTER-125");
  EXPECT_EQ(coordinator.cause().where(), "task 2 (host-2)");
  // 0: for ever.
  options.stuck_after = milliseconds(0);
  Coordinator patient(options, clock_);
  for (int rank = 0; rank < 3; ++rank) (void)patient.join(call(rank), open_, milliseconds(0));
  for (int second = 0; second < 1000; ++second) {
    for (int rank = 0; rank < 3; ++rank) {
      (void)patient.pulse({rank, 100 + static_cast<std::uint64_t>(rank), patient.incarnation()}, 7, "a step", "sum");
    }
    clock_.advance(1000 * kMs);
    patient.tick();
  }
  EXPECT_TRUE(patient.cause().ok()) << patient.cause().to_string();
}

TEST_F(CoordinatorTest, CoordinatorThatDidNotRunBlamesNobody) {
  all_join();
  clock_.advance(30'000 * kMs);  // its machine was asleep
  coordinator_.tick();
  coordinator_.tick();
  EXPECT_TRUE(coordinator_.cause().ok()) << coordinator_.cause().to_string();
}

TEST_F(CoordinatorTest, ClosedConnectionIsALostTaskUnlessItComesBack) {
  all_join();
  Cancellation gone;
  std::thread watcher([&] { (void)coordinator_.watch(caller(1), gone); });
  while (coordinator_.snapshot().tasks[1].watching == 0) std::this_thread::yield();
  gone.cancel(cancelled("closed"));
  watcher.join();
  pass(40 * kMs);
  EXPECT_TRUE(coordinator_.cause().ok());
  Cancellation again;
  std::thread second([&] { EXPECT_TRUE(coordinator_.watch(caller(1), again).ok()); });
  while (coordinator_.snapshot().tasks[1].watching == 0) std::this_thread::yield();
  pass(500 * kMs);
  EXPECT_TRUE(coordinator_.cause().ok());
  again.cancel(cancelled("closed"));
  second.join();
  pass(100 * kMs);
  EXPECT_THAT(coordinator_.cause().message(), HasSubstr("task 1 (host-1) is gone: its connection was closed"));
}

TEST_F(CoordinatorTest, FirstHandErrorWinsOverThoseThatFollow) {
  all_join();
  std::thread follower(
      [&] { EXPECT_THAT(coordinator_.fail(caller(0), unavailable("peer closed")).message(), HasSubstr("nan")); });
  pass(40 * kMs);
  const Status first = coordinator_.fail(caller(2), invalid_argument("nan").with_where("node 'loss'"));
  EXPECT_EQ(first.where(), "node 'loss', task 2 (host-2)");
  follower.join();
}

TEST_F(CoordinatorTest, OtherIncarnationsAreRefused) {
  all_join();
  CallerId old = caller(1);
  old.coordinator += 1;
  EXPECT_EQ(coordinator_.pulse(old, 0, "").id(), "ARG-CLUSTER-039");
  old = caller(1);
  old.incarnation += 1;
  EXPECT_EQ(coordinator_.put(old, "a", "b").id(), "ARG-CLUSTER-039");
  EXPECT_EQ(coordinator_.pulse({99, 1, coordinator_.incarnation()}, 0, "").id(), "ARG-CLUSTER-039");
  EXPECT_EQ(coordinator_.pulse({-1, 1, coordinator_.incarnation()}, 0, "").id(), "ARG-CLUSTER-039");
}

TEST_F(CoordinatorTest, BarrierNamesWhoIsMissing) {
  all_join();
  std::thread one([&] { (void)coordinator_.barrier(caller(0), "b", milliseconds(50), open_); });
  const Status late = coordinator_.barrier(caller(1), "b", milliseconds(50), open_);
  one.join();
  EXPECT_EQ(late.id(), "ARG-CLUSTER-040");
  EXPECT_THAT(late.message(), HasSubstr("1 of 3 tasks were not there: task 2 (host-2)"));
}

TEST_F(CoordinatorTest, SilenceOfWhoLeftIsNoFailure) {
  all_join();
  EXPECT_TRUE(coordinator_.leave(caller(1), false).ok());
  EXPECT_TRUE(coordinator_.leave(caller(2), false).ok());
  EXPECT_TRUE(coordinator_.wait_until_alone(milliseconds(0)));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(coordinator_.pulse(caller(0), 0, "").ok());
    pass(1000 * kMs);
  }
  EXPECT_TRUE(coordinator_.cause().ok());
}

TEST_F(CoordinatorTest, SaysWhoWaitsForWhom) {
  all_join();
  EXPECT_EQ(coordinator_.snapshot().waits, "");
  (void)coordinator_.pulse(caller(0), 9, "all-reduce");
  (void)coordinator_.pulse(caller(1), 9, "all-reduce");
  (void)coordinator_.pulse(caller(2), 8, "input");
  clock_.advance(1500 * kMs);
  EXPECT_EQ(coordinator_.snapshot().waits, "tasks 0, 1 wait for task 2 (host-2), at step 8, input for 1.5 s");
}

TEST(NumberRanges, AreShort) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({1, 2, 4, 5, 6, 9}), "1, 2, 4-6, 9");
}

}  // namespace
}  // namespace argosy
