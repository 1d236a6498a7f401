#include "argosy/base/threads/timers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace argosy {
namespace {

using namespace std::chrono_literals;

TEST(Alarms, RingInTheirOrderUnlessDropped) {
  Alarms alarms;
  const auto now = std::chrono::steady_clock::now();
  std::atomic<int> rung{0}, last{0}, dropped{0};
  ASSERT_TRUE(alarms.set(now + 40ms, [&] { last = ++rung; }).ok());
  ASSERT_TRUE(alarms.set(now + 5ms, [&] { ++rung; }).ok());
  const auto gone = alarms.set(now + 20ms, [&] { ++dropped; });
  ASSERT_TRUE(gone.ok());
  alarms.drop(*gone);
  alarms.drop(*gone);
  while (last == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(last, 2);
  EXPECT_EQ(dropped, 0);
}

TEST(Alarms, AnAlarmMaySetAnother) {
  std::atomic<bool> second{false};
  Alarms alarms;
  const auto now = std::chrono::steady_clock::now();
  ASSERT_TRUE(alarms.set(now, [&] { ASSERT_TRUE(alarms.set(now, [&] { second = true; }).ok()); }).ok());
  while (!second) std::this_thread::sleep_for(1ms);
}

TEST(Alarms, WhoDropsOneThatGoesOffWaitsForItsEnd) {
  std::atomic<bool> began{false}, ended{false};
  std::atomic<Alarms::Token> own{0};
  Alarms alarms;
  const auto token = alarms.set(std::chrono::steady_clock::now(), [&] {
    began = true;
    while (own == 0) std::this_thread::sleep_for(1ms);
    alarms.drop(own);  // from within: nothing to wait for
    std::this_thread::sleep_for(20ms);
    ended = true;
  });
  ASSERT_TRUE(token.ok());
  own = *token;
  while (!began) std::this_thread::sleep_for(1ms);
  alarms.drop(*token);
  EXPECT_TRUE(ended);
}

TEST(Alarms, ThoseThatAreLeftAreForgotten) {
  bool rung = false;
  {
    Alarms alarms;
    ASSERT_TRUE(alarms.set(std::chrono::steady_clock::now() + 1h, [&] { rung = true; }).ok());
  }
  EXPECT_FALSE(rung);
}

}  // namespace
}  // namespace argosy
