// Pollers: threads that take events from a queue. The thread that takes an event also does its work, so short work
// needs no thread switch.
//
// * One thread polls the queue. Before long work it calls expect_duration(), which first puts another thread at the
//   queue.
// * During short work no thread polls. If the work blocks after all, the watcher thread puts another thread at the
//   queue within two milliseconds. The watcher is awake only while events arrive.
// * A thread without work stays idle: a few for a second, one without limit. There is one thread for each blocked piece
//   of work, and one at the queue.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::tf {

class Pollers {
 public:
  // Waits for one event, calls begin_work() and does the event's work. False: the queue is shut down and empty.
  using PollOne = std::function<bool(Pollers&)>;

  explicit Pollers(PollOne poll_one);
  ~Pollers();  // join() must have been called

  // Called inside poll_one, on its thread, when it has taken an event.
  void begin_work();
  // Called inside poll_one: announces that the work will take so long from now; negative: unknown. Throws
  // std::system_error if the work is long and the system has no thread left for the queue. The work must not begin
  // then: no other event would be served.
  void expect_duration(std::int64_t nanos);

  // Waits until the queue is shut down and every thread has ended.
  void join();
  int threads() const;

 private:
  // A thread's state: polling; at short work, with no other thread polling; or at long work or idle, replaced by
  // another.
  enum class Place { kQueue, kShort, kAway };
  struct Worker {
    std::thread thread;
    std::atomic<Place> place{Place::kQueue};
    std::atomic<std::int64_t> since{0};  // now_nanos() when the work began
  };

  void work(Worker& me);
  void watch();
  void put_poller() ARGOSY_REQUIRES(mutex_);
  void replace(Worker& worker) ARGOSY_REQUIRES(mutex_);
  bool rest() ARGOSY_REQUIRES(mutex_);

  const PollOne poll_one_;
  mutable Mutex mutex_;
  CondVar wanted_, watch_, ended_changed_;
  std::list<Worker> workers_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Worker*> ended_ ARGOSY_GUARDED_BY(mutex_);
  int resting_ ARGOSY_GUARDED_BY(mutex_) = 0;
  int called_ ARGOSY_GUARDED_BY(mutex_) = 0;  // idle threads that were woken and have not left rest() yet
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;

  std::atomic<Worker*> at_short_work_{nullptr};
  std::atomic<std::int64_t> last_event_{0};
  std::atomic<bool> watching_{false};
  std::thread watcher_;
};

}  // namespace argosy::tf
