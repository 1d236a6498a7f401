// Pollers: threads that take events from a queue. The thread that takes an event does its work at once: a short piece
// of work costs no hand-over.
//
// * One thread waits at the queue. Before long work it says so (expect_duration): another thread takes the queue first.
// * During short work nobody is at the queue. If the work blocks after all, a watching thread puts another thread there
//   within two milliseconds. The watching thread is awake only while there is traffic.
// * A thread without work rests: a few for a second, one for good. There are as many threads as work that blocks.
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
  // Takes one event, waiting for it, calls begin_work(), works. False: the queue is shut down and empty.
  using PollOne = std::function<bool(Pollers&)>;

  explicit Pollers(PollOne poll_one);
  ~Pollers();  // join() must have been called

  // Inside poll_one, on its thread: an event has come.
  void begin_work();
  // Likewise: the work will take about so long from now; negative: unknown. Throws std::system_error if the work is
  // long and the system has no thread left for the queue. The work must not begin then: no other call would be served.
  void expect_duration(std::int64_t nanos);

  // Waits until the queue is shut down and every thread has ended.
  void join();
  int threads() const;

 private:
  // Where a thread is: waiting for an event, at short work with nobody else at the queue, or away from it.
  enum class Place { kQueue, kShort, kAway };
  struct Worker {
    std::thread thread;
    std::atomic<Place> place{Place::kQueue};
    std::atomic<std::int64_t> since{0};  // when the work began
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
  int called_ ARGOSY_GUARDED_BY(mutex_) = 0;  // how many of them are to come back
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;

  std::atomic<Worker*> at_short_work_{nullptr};
  std::atomic<std::int64_t> last_event_{0};
  std::atomic<bool> watching_{false};
  std::thread watcher_;
};

}  // namespace argosy::tf
