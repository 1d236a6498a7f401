#include "argosy/rpc/wire/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

#include "argosy/base/clock.h"
#include "argosy/base/threads/test_no_threads.h"

namespace argosy::tf {
namespace {

void wait_for(const std::function<bool()>& done) {
  const std::int64_t start = now_nanos();
  while (!done()) {
    ASSERT_LT(seconds_since(start), 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Runs work and waits until its thread rests, as all but `working` do. Returns that thread.
std::thread::id one_call(CallThreads& threads, int working = 0) {
  std::promise<std::thread::id> ran;
  EXPECT_TRUE(threads.run([&] { ran.set_value(std::this_thread::get_id()); }));
  const std::thread::id id = ran.get_future().get();
  wait_for([&] { return threads.resting() == threads.threads() - working; });
  return id;
}

// Calls that hold their threads until the end of the test, or release().
class Held {
 public:
  void start(CallThreads& threads, int calls) {
    for (int i = 0; i < calls; ++i) {
      EXPECT_TRUE(threads.run([this] {
        begun_.fetch_add(1);
        until_released_.wait();
        ended_.fetch_add(1);
      }));
    }
    begun_wanted_ += calls;
    wait_for([this] { return begun_.load() == begun_wanted_; });
  }
  void release() {
    released_.set_value();
    wait_for([this] { return ended_.load() == begun_wanted_; });
  }

 private:
  std::promise<void> released_;
  const std::shared_future<void> until_released_ = released_.get_future().share();
  std::atomic<int> begun_{0}, ended_{0};
  int begun_wanted_ = 0;
};

TEST(CallThreads, CallsOneAfterAnotherHaveOneThread) {
  CallThreads threads;
  const std::thread::id first = one_call(threads);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one_call(threads), first);
  EXPECT_EQ(threads.threads(), 1);
}

TEST(CallThreads, TheThreadThatWorkedLastWorksNext) {
  CallThreads threads;
  Held held;
  held.start(threads, 1);
  const std::thread::id second = one_call(threads, 1);
  held.release();
  wait_for([&] { return threads.resting() == 2; });
  const std::thread::id first = one_call(threads);  // that of the call just released
  EXPECT_NE(first, second);
  for (int i = 0; i < 10 && threads.threads() == 2; ++i) EXPECT_EQ(one_call(threads), first);
}

// A call that blocks for ever holds up no other; afterwards all threads but one end.
TEST(CallThreads, EachBlockedCallHasItsOwn) {
  CallThreads threads;
  Held held;
  held.start(threads, 20);
  EXPECT_EQ(threads.threads(), 20);
  (void)one_call(threads, 20);
  held.release();
  wait_for([&] { return threads.threads() <= 8; });
  wait_for([&] { return threads.threads() == 1; });
  const std::thread::id last = one_call(threads);
  EXPECT_EQ(one_call(threads), last);
}

TEST(CallThreads, WithoutAThreadNothingStarts) {
  CallThreads threads;
  const std::thread::id only = one_call(threads);
  Held held;
  held.start(threads, 1);
  {
    const NoThreads none;
    EXPECT_FALSE(threads.run([] { FAIL() << "nobody could run it"; }));
  }
  held.release();
  wait_for([&] { return threads.resting() == 1; });
  EXPECT_EQ(one_call(threads), only);
}

TEST(CallThreads, EndWithTheirCalls) {
  std::atomic<int> ended{0};
  {
    CallThreads threads;
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(threads.run([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ended.fetch_add(1);
      }));
    }
  }
  EXPECT_EQ(ended.load(), 5);
}

}  // namespace
}  // namespace argosy::tf
