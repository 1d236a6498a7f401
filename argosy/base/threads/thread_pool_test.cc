#include "argosy/base/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "argosy/base/clock.h"
#include "argosy/base/threads/blocking_pool.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/test_no_threads.h"

namespace argosy {
namespace {

// Waits, helping, until `count` reaches `wanted`.
void help_until(ThreadPool& pool, const std::atomic<int>& count, int wanted) {
  while (count.load() < wanted) {
    if (!pool.run_one()) std::this_thread::yield();
  }
}

TEST(WorkDeque, OwnerTakesTheYoungestAndThievesTheOldest) {
  WorkDeque deque;
  int names[3];
  PoolTask task;
  EXPECT_FALSE(deque.pop(&task));
  EXPECT_FALSE(deque.steal(&task));
  for (int& name : names) EXPECT_TRUE(deque.push({nullptr, &name}));
  EXPECT_TRUE(deque.steal(&task));
  EXPECT_EQ(task.argument, &names[0]);
  EXPECT_TRUE(deque.pop(&task));
  EXPECT_EQ(task.argument, &names[2]);
  EXPECT_TRUE(deque.pop(&task));
  EXPECT_EQ(task.argument, &names[1]);
  EXPECT_TRUE(deque.empty());
  for (std::int64_t i = 0; i < WorkDeque::kCapacity; ++i) EXPECT_TRUE(deque.push({nullptr, &names[0]}));
  EXPECT_FALSE(deque.push({nullptr, &names[0]}));
}

// Every item is taken exactly once, by the owner or by one of three thieves.
TEST(WorkDeque, NothingIsLostOrTakenTwice) {
  constexpr int kItems = 60000;
  WorkDeque deque;
  std::vector<std::atomic<int>> taken(kItems);
  std::atomic<bool> done{false};
  const auto take = [&](const PoolTask& task) { static_cast<std::atomic<int>*>(task.argument)->fetch_add(1); };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 3; ++t) {
    thieves.emplace_back([&] {
      PoolTask task;
      while (!done.load() || !deque.empty()) {
        if (deque.steal(&task)) take(task);
      }
    });
  }
  PoolTask task;
  for (int i = 0; i < kItems; ++i) {
    while (!deque.push({nullptr, &taken[static_cast<std::size_t>(i)]})) {
      if (deque.pop(&task)) take(task);
    }
    if (i % 3 == 0 && deque.pop(&task)) take(task);
  }
  done = true;
  for (std::thread& thief : thieves) thief.join();
  for (const auto& count : taken) ASSERT_EQ(count.load(), 1);
}

TEST(ThreadPool, RunsWhatIsScheduledFromOutsideAndInside) {
  ThreadPool pool({.threads = 3, .thread_budget = 2, .name = "test"});
  EXPECT_EQ(pool.size(), 3);
  EXPECT_EQ(pool.worker(), -1);
  std::atomic<int> count{0};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 500; ++i) {
    pool.schedule([&] {
      if (pool.worker() >= 0 && thread_budget() != 2) ++wrong;
      pool.schedule([&] { ++count; });
      ++count;
    });
  }
  help_until(pool, count, 1000);
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, WorkSpreadsOverItsThreads) {
  ThreadPool pool({.threads = 4});
  std::atomic<int> inside{0}, most{0}, done{0};
  for (int i = 0; i < 8; ++i) {
    pool.schedule([&] {
      const int now = ++inside;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      --inside;
      ++done;
    });
  }
  while (done < 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(most, 4);
}

struct Tree {
  ThreadPool* pool;
  std::atomic<int>* count;
  int depth;
};
// Each node schedules two below it: deques overflow, are stolen from, and run dry again and again.
void grow(void* argument) {
  const std::unique_ptr<Tree> tree(static_cast<Tree*>(argument));
  if (tree->depth > 0) {
    for (int i = 0; i < 2; ++i) tree->pool->schedule(grow, new Tree{tree->pool, tree->count, tree->depth - 1});
  }
  ++*tree->count;
}

TEST(ThreadPool, StressOfTreesAndFans) {
  for (int round = 0; round < 5; ++round) {
    ThreadPool pool({.threads = 4});
    std::atomic<int> count{0};
    pool.schedule(grow, new Tree{&pool, &count, 12});
    help_until(pool, count, (1 << 13) - 1);
    // A fan wider than a deque, from one worker.
    pool.schedule([&] {
      for (int i = 0; i < 3000; ++i) pool.schedule([&] { ++count; });
    });
    help_until(pool, count, (1 << 13) - 1 + 3000);
  }
}

// Single tasks with pauses in between: whoever sleeps must be woken every time.
TEST(ThreadPool, NoWakeUpIsLost) {
  ThreadPool pool({.threads = 2});
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> done{false};
    pool.schedule([&] { done = true; });
    const std::int64_t start = now_nanos();
    while (!done) {
      std::this_thread::yield();
      ASSERT_LT(seconds_since(start), 20) << "task " << i << " was never run";
    }
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i));
  }
}

TEST(ThreadPool, GoingAwayRunsEverything) {
  std::atomic<int> count{0};
  {
    ThreadPool pool({.threads = 2});
    for (int i = 0; i < 100; ++i) {
      pool.schedule([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        pool.schedule([&] { ++count; });
      });
    }
  }
  EXPECT_EQ(count, 100);
}

TEST(ThreadPool, TheCostOfAWakeUpIsMeasured) {
  EXPECT_GE(wake_cost_nanos(), 2'000);
  EXPECT_LE(wake_cost_nanos(), 200'000);
}

TEST(ThreadPool, WithoutThreadsTasksRunOnTheSpot) {
  const NoThreads none;
  ThreadPool pool({.threads = 2});
  EXPECT_EQ(pool.size(), 0);
  bool ran = false;
  pool.schedule([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(pool.run_one());
}

TEST(BlockingPool, WithoutThreadsItSaysSo) {
  BlockingPool pool;
  {
    const NoThreads none;
    const Status refused = pool.schedule([] { FAIL() << "was refused"; });
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.id(), "ARG-THREAD-001");
  }
  std::atomic<bool> ran{false};
  ASSERT_TRUE(pool.schedule([&] { ran = true; }).ok());
  while (!ran) std::this_thread::yield();
}

TEST(BlockingPool, EveryTaskThatWaitsHasAThread) {
  std::atomic<int> inside{0};
  std::atomic<bool> go{false};
  BlockingPool pool;  // ends first: its tasks look at both until they are over
  constexpr int kTasks = 20;
  for (int i = 0; i < kTasks; ++i) {
    ASSERT_TRUE(pool.schedule([&] {
                      ++inside;
                      go.wait(false);
                    })
                    .ok());
  }
  while (inside < kTasks) std::this_thread::yield();  // hangs if one waits behind another
  go = true;
  go.notify_all();
}

TEST(BlockingPool, ThreadsAreReusedAndGoAwayWhenIdle) {
  BlockingPool pool({.idle = std::chrono::milliseconds(30)});
  std::atomic<int> count{0};
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(pool.schedule([&] { ++count; }).ok());
    while (count <= i) std::this_thread::yield();
  }
  EXPECT_LT(pool.threads(), 50);
  const std::int64_t start = now_nanos();
  while (pool.threads() > 0 && seconds_since(start) < 20) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(pool.threads(), 0);
  ASSERT_TRUE(pool.schedule([&] { ++count; }).ok());
  while (count < 51) std::this_thread::yield();
}

TEST(BlockingPool, BeyondTheLimitTasksQueue) {
  std::atomic<int> count{0};
  {
    BlockingPool pool({.most_threads = 2});
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(pool.schedule([&] {
                        std::this_thread::sleep_for(std::chrono::microseconds(200));
                        ++count;
                      })
                      .ok());
      EXPECT_LE(pool.threads(), 2);
    }
  }
  EXPECT_EQ(count, 40);
}

}  // namespace
}  // namespace argosy
