#include "argosy/base/team_waits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "argosy/base/sanitizers.h"

namespace argosy {
namespace {

using std::chrono::milliseconds;

int threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

// Computes, so that the process does not rest, until done() or for ten seconds.
template <typename Done>
bool computing_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done() && std::chrono::steady_clock::now() < end) {
  }
  return done();
}

TEST(TeamWaits, FollowOthersThatComeAndGo) {
  std::atomic<bool> others{true};
  const int before = threads_of_this_process();
  {
    TeamWaits waits([&others] { return others.load(); }, milliseconds(5));
    EXPECT_TRUE(waits.are_short()) << "from the first moment";
#if !defined(ARGOSY_TSAN)
    EXPECT_TRUE(computing_until([&] { return threads_of_this_process() == before + 3; }))
        << "the watcher, and a team that makes one thread too many: " << threads_of_this_process() - before;
#endif
    others = false;
    EXPECT_TRUE(computing_until([&] { return !waits.are_short(); }));
    EXPECT_TRUE(computing_until([&] { return threads_of_this_process() == before + 1; }))
        << "the watcher alone: " << threads_of_this_process() - before;
    others = true;
    EXPECT_TRUE(computing_until([&] { return waits.are_short(); }));
  }
  EXPECT_TRUE(computing_until([&] { return threads_of_this_process() == before; }));
}

TEST(TeamWaits, NobodyIsAskedWhileTheProcessRests) {
  std::atomic<int> asked{0};
  const TeamWaits waits([&asked] { return ++asked < 0; }, milliseconds(20));
  EXPECT_EQ(asked, 1);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LE(asked, 3) << "an interval or two may have seen this test begin";
  const int rested = asked;
  EXPECT_TRUE(computing_until([&] { return asked > rested; }));
}

}  // namespace
}  // namespace argosy
