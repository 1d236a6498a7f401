#include "argosy/base/threads/omp_spin_policy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

#if !defined(ARGOSY_TSAN)
// libgomp ends a process that has no thread left for a team. The limit of a user who has no other process is exact.
TEST(OmpSpinPolicy, WithoutThreadsTheProcessGoesOn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user without processes";
  constexpr uid_t kNobodyElse = 54321;
  for (const rlim_t threads : {1, 2, 3, 4}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit most = {threads, threads};
      if (setuid(kNobodyElse) != 0 || setrlimit(RLIMIT_NPROC, &most) != 0) _exit(2);
      {
        OmpSpinPolicy waits([] { return true; }, milliseconds(1), milliseconds(1));
        std::this_thread::sleep_for(milliseconds(100));
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << threads << " threads: " << status;
  }
}
#endif

}  // namespace
}  // namespace argosy
