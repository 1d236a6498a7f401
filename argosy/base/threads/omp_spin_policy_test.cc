#include "argosy/base/threads/omp_spin_policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "argosy/base/sanitizers.h"
#include "argosy/base/threads/test_thread_counts.h"

namespace argosy {
namespace {

using std::chrono::milliseconds;

TEST(OmpSpinPolicy, FollowOthersThatComeAndGo) {
  std::thread([] {
    name_this_thread("waits test");  // and with it all that the object starts
    const auto started = [] { return threads_named("waits test") - 1; };
    std::atomic<bool> others{true};
    {
      OmpSpinPolicy waits([&others] { return others.load(); }, milliseconds(1), milliseconds(5));
      EXPECT_TRUE(eventually([&] { return waits.spin_is_short(); }));
#if !defined(ARGOSY_TSAN)
      EXPECT_TRUE(eventually([&] { return started() == 3; })) << "who watches, and a team too many: " << started();
#endif
      others = false;
      EXPECT_TRUE(eventually([&] { return !waits.spin_is_short(); }));
      EXPECT_TRUE(eventually([&] { return started() == 1; })) << "who watches: " << started();
      others = true;
      EXPECT_TRUE(eventually([&] { return waits.spin_is_short(); }));
    }
    EXPECT_TRUE(eventually([&] { return started() == 0; }));
  }).join();
}

}  // namespace
}  // namespace argosy
