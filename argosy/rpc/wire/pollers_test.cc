#include "argosy/rpc/wire/pollers.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/test_no_threads.h"
#include "argosy/base/threads/test_thread_counts.h"

namespace argosy::tf {
namespace {

// A queue of pieces of work: how long each is said to take, and what it does.
class Queue {
 public:
  struct Piece {
    std::int64_t said;
    std::function<void()> work;
  };
  void add(Piece piece) {
    MutexLock lock(mutex_);
    pieces_.push_back(std::move(piece));
    changed_.notify_one();
  }
  void shut_down() {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  bool poll(Pollers& pollers) {
    Piece piece;
    {
      MutexLock lock(mutex_);
      while (pieces_.empty() && !over_) changed_.wait(mutex_);
      if (pieces_.empty()) return false;
      piece = std::move(pieces_.front());
      pieces_.pop_front();
    }
    pollers.begin_work();
    try {
      pollers.expect_duration(piece.said);
    } catch (const std::system_error&) {
      refused.fetch_add(1);
      return true;
    }
    piece.work();
    return true;
  }
  std::atomic<int> refused{0};

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<Piece> pieces_ ARGOSY_GUARDED_BY(mutex_);
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;
};

void wait_for(const std::function<bool()>& done) {
  const std::int64_t start = now_nanos();
  while (!done()) {
    ASSERT_LT(seconds_since(start), 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Pollers, ShortWorkIsDoneByOneThread) {
  Queue queue;
  Pollers pollers([&](Pollers& p) { return queue.poll(p); });
  std::atomic<int> done{0};
  for (int i = 0; i < 1000; ++i) queue.add({10, [&] { done.fetch_add(1); }});
  wait_for([&] { return done.load() == 1000; });
  EXPECT_LE(pollers.threads(), 3);
  queue.shut_down();
  pollers.join();
}

// Issue 31: 300 blocked dequeues under a limit of threads ended the server (std::system_error).
TEST(Pollers, LongWorkIsRefusedWhereNobodyWouldBeLeftAtTheQueue) {
  Queue queue;
  Pollers pollers([&](Pollers& p) { return queue.poll(p); });
  std::atomic<int> waiting{0}, done{0};
  std::atomic<bool> go{false};
  const auto block = [&] {
    waiting.fetch_add(1);
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  for (int round = 0; round < 3; ++round) {
    const NoThreads none;
    for (int i = 0; i < 300; ++i) queue.add({-1, block});
    queue.add({10, [&] { done.fetch_add(1); }});
    wait_for([&] { return done.load() == round + 1; });
    EXPECT_EQ(queue.refused + waiting, 300 * (round + 1));
    EXPECT_LE(waiting, 9);  // those that rested took over for some
  }
  // Work that blocks although it was said to be short leaves nobody at the queue, until threads can be had again.
  {
    const NoThreads none;
    queue.add({10, block});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    queue.add({10, [&] { done.fetch_add(1); }});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  wait_for([&] { return done.load() == 4; });
  go = true;
  queue.add({-1, [&] { done.fetch_add(1); }});
  wait_for([&] { return done.load() == 5; });
  queue.shut_down();
  pollers.join();
}

TEST(Pollers, ThreadsOfAWaveEndOnceNobodyWantsThem) {
  Queue queue;
  Pollers pollers([&](Pollers& p) { return queue.poll(p); });
  std::atomic<int> waiting{0}, done{0};
  std::atomic<bool> go{false};
  const auto block = [&] {
    waiting.fetch_add(1);
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    done.fetch_add(1);
  };
  for (int wave = 1; wave <= 2; ++wave) {
    go = false;
    for (int i = 0; i < 6; ++i) queue.add({-1, block});
    wait_for([&] { return waiting.load() == 6 * wave; });
    EXPECT_GE(pollers.threads(), 7);
    go = true;
    wait_for([&] { return done.load() == 6 * wave; });
    wait_for([&] { return pollers.threads() <= 2; });  // one at the queue, one that rests
  }
  queue.shut_down();
  pollers.join();
}

#if !defined(ARGOSY_TSAN)  // there are no teams then
// Two threads take turns at long work: were both to keep a team, there would be more threads in teams than cores.
TEST(Pollers, LongWorkLeavesNoTeamBehind) {
  Queue queue;
  Pollers pollers([&](Pollers& p) { return queue.poll(p); });
  std::atomic<int> done{0}, team{0};
  const auto work = [&] {
    name_this_thread("long work");
    set_thread_budget(4);
    parallel_for(4, 1, [](std::int64_t, std::int64_t) {});
    team = threads_named("long work");
    name_this_thread("poller");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    done.fetch_add(1);
  };
  for (int i = 1; i <= 6; ++i) {
    queue.add({-1, work});
    wait_for([&] { return done.load() == i; });
    EXPECT_GE(team.load(), 4);
    EXPECT_TRUE(eventually([] { return threads_named("long work") <= 1; })) << "but who watches waits";
  }
  EXPECT_GE(pollers.threads(), 2);
  queue.shut_down();
  pollers.join();
}
#endif

TEST(Pollers, WorkThatBlocksHoldsNobodyUpWhateverItSaid) {
  for (const std::int64_t said : {std::int64_t{-1}, std::int64_t{10}}) {
    Queue queue;
    Pollers pollers([&](Pollers& p) { return queue.poll(p); });
    std::atomic<bool> go{false};
    std::atomic<int> blocked{0}, done{0};
    for (int i = 0; i < 20; ++i) {
      queue.add({said, [&] {
                   blocked.fetch_add(1);
                   while (!go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                 }});
      queue.add({10, [&] { done.fetch_add(1); }});
    }
    wait_for([&] { return done.load() == 20 && blocked.load() == 20; });
    go = true;
    for (int i = 0; i < 100; ++i) queue.add({i % 2 == 0 ? -1 : 10, [&] { done.fetch_add(1); }});
    wait_for([&] { return done.load() == 120; });
    wait_for([&] { return pollers.threads() <= 10; });  // few are kept
    queue.shut_down();
    pollers.join();
    EXPECT_EQ(pollers.threads(), 0);
  }
}

TEST(Pollers, TrafficAfterQuietIsWatchedToo) {
  struct Round {
    std::atomic<bool> go{false}, done{false};
  };
  std::array<Round, 3> rounds;  // the threads may look at them until they are joined
  Queue queue;
  Pollers pollers([&](Pollers& p) { return queue.poll(p); });
  for (Round& round : rounds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    queue.add({10, [&round] {
                 while (!round.go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
               }});
    queue.add({10, [&round] { round.done = true; }});
    wait_for([&round] { return round.done.load(); });
    round.go = true;
  }
  queue.shut_down();
  pollers.join();
}

}  // namespace
}  // namespace argosy::tf
