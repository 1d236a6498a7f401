#include "argosy/base/threads/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "argosy/base/guard.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/test_thread_counts.h"

extern "C" void omp_set_max_active_levels(int levels);  // libgomp's, of the calling thread

namespace argosy {
namespace {

using Ranges = std::set<std::pair<std::int64_t, std::int64_t>>;

// On a thread of its own, so that the budget of the test's stays as it was.
Ranges ranges(int budget, std::int64_t n, std::int64_t grain) {
  Ranges seen;
  std::thread([&] {
    set_thread_budget(budget);
    std::mutex mutex;
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
      std::lock_guard lock(mutex);
      seen.emplace(begin, end);
    });
  }).join();
  return seen;
}

TEST(ParallelFor, RangesFollowFromTheBudget) {
  EXPECT_EQ(ranges(3, 10, 1), (Ranges{{0, 3}, {3, 6}, {6, 10}}));
  EXPECT_EQ(ranges(8, 10, 4), (Ranges{{0, 5}, {5, 10}})) << "each has at least its grain";
  EXPECT_EQ(ranges(8, 10, 6), (Ranges{{0, 10}}));
  EXPECT_EQ(ranges(1, 10, 1), (Ranges{{0, 10}}));
  EXPECT_EQ(ranges(4, 0, 1), Ranges{});
}

// Plain writes, side by side: what a range writes is its own, and seen once the loop is over.
TEST(ParallelFor, EveryIndexOnce) {
  std::vector<int> count(1000);
  std::thread([&] {
    set_thread_budget(4);
    for (int round = 0; round < 20; ++round) {
      parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
      });
    }
  }).join();
  EXPECT_THAT(count, testing::Each(20));
}

// What OMP_THREAD_LIMIT and OMP_DYNAMIC do, too: ranges that found no thread were skipped.
TEST(ParallelFor, EveryIndexOnceByASmallerTeam) {
  std::vector<int> count(1000);
  std::thread([&] {
    set_thread_budget(4);
    omp_set_max_active_levels(0);
    parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
    });
  }).join();
  EXPECT_THAT(count, testing::Each(1));
}

// As a kernel's loop: the code it ends with, and how many iterations were begun. The step is over after `few` of them.
std::pair<Code, std::int64_t> interrupted_loop(int budget, std::int64_t n, std::int64_t few, bool between_blocks,
                                               bool whole = false) {
  std::atomic<std::int64_t> begun{0};
  Code code = Code::kOk;
  std::thread([&] {
    set_thread_budget(budget);
    Cancellation step;
    const auto body = [&](std::int64_t begin, std::int64_t end) {
      if (begun.fetch_add(end - begin) >= few) step.cancel(deadline_exceeded("over"));
    };
    const Status status = guarded([&]() -> Status {
      const InterruptScope scope(&step, between_blocks);
      if (whole) {
        parallel_for_whole(n, 1, body);
      } else {
        parallel_for(n, 1, body);
      }
      return ok_status();
    });
    code = status.code();
  }).join();
  return {code, begun};
}

TEST(ParallelFor, EndsBetweenBlocksWhereTheStepIsOver) {
  for (const int budget : {1, 3}) {
    const auto [code, begun] = interrupted_loop(budget, 1'000'000, 1000, true);
    EXPECT_EQ(code, Code::kDeadlineExceeded) << budget;
    EXPECT_LT(begun, 100'000) << budget;
  }
}

TEST(ParallelFor, IsWholeWhereItMustBe) {
  for (const int budget : {1, 3}) {
    EXPECT_EQ(interrupted_loop(budget, 1'000'000, 0, false), (std::pair<Code, std::int64_t>(Code::kOk, 1'000'000)));
    EXPECT_EQ(interrupted_loop(budget, 1'000'000, 0, true, true),
              (std::pair<Code, std::int64_t>(Code::kOk, 1'000'000)));
  }
}

TEST(ParallelFor, BlocksCoverEveryIndexOnce) {
  std::vector<int> count(100'000);
  std::thread([&] {
    set_thread_budget(2);
    const Cancellation step;
    const InterruptScope scope(&step);
    parallel_for(100'000, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
    });
  }).join();
  EXPECT_THAT(count, testing::Each(1));
}

TEST(Poll, AsksNowAndThen) {
  Cancellation step;
  step.cancel(cancelled("over"));
  Poll outside(1);
  outside();  // nobody's step
  const InterruptScope scope(&step);
  Poll poll(3);
  poll();
  poll();
  EXPECT_THROW(poll(), Interrupted);
  const InterruptScope inner(nullptr);
  check_interrupted();
}

#if !defined(ARGOSY_TSAN)  // there are no teams then
TEST(ParallelFor, ATeamThatIsLetGoComesBack) {
  std::thread([] {
    name_this_thread("let go");
    set_thread_budget(3);
    release_omp_team();  // there is none
    for (int round = 0; round < 3; ++round) {
      parallel_for(3, 1, [](std::int64_t, std::int64_t) {});
      EXPECT_GE(threads_named("let go"), 3);
      release_omp_team();
      EXPECT_TRUE(eventually([] { return threads_named("let go") <= 2; })) << "itself, and perhaps who watches waits";
    }
  }).join();
}
#endif

}  // namespace
}  // namespace argosy
