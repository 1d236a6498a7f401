// Pollers: threads that take events from a queue and do the work of each at once, so that a short piece of work costs
// no hand-over between threads.
//
// Whoever is about to work for long says so (will_take), and another thread takes over the queue first. Short work is
// done with nobody at the queue; should it turn out to be long after all (a step that usually takes 10 us blocks), a
// watching thread, awake only while there is traffic, puts a poller there within two milliseconds. Threads that have
// nothing to do rest; a few are kept, and as many are made as there is work that blocks.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::tf {

class Pollers {
 public:
  // Takes one event, waiting for it, calls begin_work(), works. False: the queue is shut down and empty.
  using PollOne = std::function<bool(Pollers&)>;

  explicit Pollers(PollOne poll_one);
  ~Pollers();  // join() must have been called

  // Inside poll_one, on its thread: an event has come.
  void begin_work();
  // Likewise: the work will take so long from now; negative: nobody knows.
  void will_take(std::int64_t nanos);

  // Waits until the queue is shut down and every thread has ended.
  void join();
  int threads() const;

 private:
  void work();
  void watch();
  void put_poller() ARGOSY_REQUIRES(mutex_);
  bool rest() ARGOSY_REQUIRES(mutex_);
  void reap(std::vector<std::thread>& to) ARGOSY_REQUIRES(mutex_);

  const PollOne poll_one_;
  mutable Mutex mutex_;
  CondVar wanted_, watch_;
  std::map<std::thread::id, std::thread> threads_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::thread::id> ended_ ARGOSY_GUARDED_BY(mutex_);
  int resting_ ARGOSY_GUARDED_BY(mutex_) = 0;
  int called_ ARGOSY_GUARDED_BY(mutex_) = 0;  // how many of them are to come back
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;

  // Threads waiting for an event or at short work; changed under the lock.
  std::atomic<int> at_queue_{0};
  // When the short work began that began last, 0: none. Whoever is stuck without anybody else at the queue stands here.
  std::atomic<std::int64_t> short_since_{0};
  std::atomic<std::int64_t> last_event_{0};
  std::atomic<bool> watching_{false};
  std::thread watcher_;
};

}  // namespace argosy::tf
