#include "argosy/base/threads/timers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace argosy {
namespace {

using namespace std::chrono_literals;

TEST(Timers, FireInOrderUnlessCancelled) {
  Timers timers;
  const auto now = std::chrono::steady_clock::now();
  std::atomic<int> fired{0}, last{0}, cancelled_fired{0};
  ASSERT_TRUE(timers.set(now + 40ms, [&] { last = ++fired; }).ok());
  ASSERT_TRUE(timers.set(now + 5ms, [&] { ++fired; }).ok());
  const auto gone = timers.set(now + 20ms, [&] { ++cancelled_fired; });
  ASSERT_TRUE(gone.ok());
  timers.cancel(*gone);
  timers.cancel(*gone);
  while (last == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(last, 2);
  EXPECT_EQ(cancelled_fired, 0);
}

TEST(Timers, ATimerMaySetAnother) {
  std::atomic<bool> second{false};
  Timers timers;
  const auto now = std::chrono::steady_clock::now();
  ASSERT_TRUE(timers.set(now, [&] { ASSERT_TRUE(timers.set(now, [&] { second = true; }).ok()); }).ok());
  while (!second) std::this_thread::sleep_for(1ms);
}

TEST(Timers, CancelWaitsForARunningCallback) {
  std::atomic<bool> began{false}, ended{false};
  std::atomic<Timers::Token> own{0};
  Timers timers;
  const auto token = timers.set(std::chrono::steady_clock::now(), [&] {
    began = true;
    while (own == 0) std::this_thread::sleep_for(1ms);
    timers.cancel(own);  // from within: nothing to wait for
    std::this_thread::sleep_for(20ms);
    ended = true;
  });
  ASSERT_TRUE(token.ok());
  own = *token;
  while (!began) std::this_thread::sleep_for(1ms);
  timers.cancel(*token);
  EXPECT_TRUE(ended);
}

TEST(Timers, RemainingTimersNeverFire) {
  bool fired = false;
  {
    Timers timers;
    ASSERT_TRUE(timers.set(std::chrono::steady_clock::now() + 1h, [&] { fired = true; }).ok());
  }
  EXPECT_FALSE(fired);
}

}  // namespace
}  // namespace argosy
