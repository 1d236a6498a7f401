#include "argosy/base/threads/core_use.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "argosy/base/clock.h"

namespace argosy {
namespace {

void compute_for(double seconds) {
  const std::int64_t start = now_nanos();
  while (seconds_since(start) < seconds) {
  }
}

TEST(CoreUse, SaysWhatThisProcessAndOthersUse) {
  CoreUseMeter meter;
  compute_for(0.2);
  const CoreUse alone = meter.read();
  EXPECT_GT(alone.own, 0.02) << "a fiftieth of a core, on whatever machine";
  const pid_t other = fork();
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const CoreUse beside = meter.read();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_LT(beside.own, alone.own);
  EXPECT_GT(beside.others, 0.05);
}

// Files of threads that end while they are read.
TEST(CoreUse, ThreadsMayEndMeanwhile) {
  std::atomic<bool> over{false};
  std::thread starter([&over] {
    while (!over) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i) threads.emplace_back([] {});
      for (std::thread& thread : threads) thread.join();
    }
  });
  CoreUseMeter meter;
  const std::int64_t start = now_nanos();
  while (seconds_since(start) < 0.5) EXPECT_NO_THROW(meter.read());
  over = true;
  starter.join();
}

TEST(ContentionDetector, OthersCountOnceOurThreadsHaveToWait) {
  ContentionDetector detector(0);
  EXPECT_FALSE(detector.detect({.own = 1.9, .others = 0.1, .delayed = 0.0}));
  EXPECT_FALSE(detector.detect({.own = 1.2, .others = 0.6, .delayed = 0.01})) << "a client that alternates with us";
  EXPECT_FALSE(detector.detect({.own = 2.0, .others = 0.0, .delayed = 0.9})) << "too many threads of our own";
  EXPECT_TRUE(detector.detect({.own = 1.2, .others = 0.8, .delayed = 0.4}));
  EXPECT_TRUE(detector.detect({.own = 1.0, .others = 0.8, .delayed = 0.0})) << "sleeping threads do not wait for cores";
  EXPECT_FALSE(detector.detect({.own = 1.9, .others = 0.05, .delayed = 0.2}));
}

TEST(ContentionDetector, FindsOutAnewAfterAWhile) {
  ContentionDetector detector(0);
  EXPECT_TRUE(detector.detect({.own = 1.0, .others = 0.8, .delayed = 0.4}));
  int intervals = 0;
  while (detector.detect({.own = 1.0, .others = 0.8, .delayed = 0.0}) && intervals < 1000) ++intervals;
  EXPECT_EQ(intervals, 59);
  EXPECT_FALSE(detector.detect({.own = 1.0, .others = 0.8, .delayed = 0.0})) << "it alternates with us";
}

TEST(ContentionDetector, CoresThatWeDoNotUseAreOthers) {
  ContentionDetector detector(6);  // two of eight
  EXPECT_FALSE(detector.detect({.own = 2.0, .others = 6.0, .delayed = 0.1}));
  EXPECT_TRUE(detector.detect({.own = 1.8, .others = 6.5, .delayed = 0.1}));
}

}  // namespace
}  // namespace argosy
