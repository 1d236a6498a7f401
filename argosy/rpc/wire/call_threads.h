// CallThreads: threads for calls that take long. A call gets the thread that has rested least. So calls one after the
// other run on one thread. Its OpenMP team (base/threads/parallel.h) and its caches stay warm.
//
// There is one thread for each call under way. A thread without one rests: a few for a second, the one that worked last
// without limit.
#pragma once

#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::tf {

// Thread-safe.
class CallThreads {
 public:
  CallThreads() = default;
  ~CallThreads();  // waits for all calls; no run() may follow
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Starts the work on another thread. It must not throw. False: the system has no thread left; nothing was started.
  bool run(std::function<void()> work);
  int threads() const;
  int resting() const;  // those without a call

 private:
  struct Worker {
    std::thread thread;
    CondVar wake;
    std::function<void()> work;  // null: none to do
    bool counts = false;         // it rests, and ends after a while; else until it is woken
  };

  void serve(Worker& me);
  // Waits for work. False: the thread ends instead.
  bool rest(Worker& me) ARGOSY_REQUIRES(mutex_);
  void join_ended() ARGOSY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar ended_changed_;
  std::list<Worker> workers_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Worker*> resting_ ARGOSY_GUARDED_BY(mutex_);  // the last one worked last
  std::vector<Worker*> ended_ ARGOSY_GUARDED_BY(mutex_);    // to be joined
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
