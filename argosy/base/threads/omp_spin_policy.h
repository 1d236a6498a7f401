// OmpSpinPolicy: sets how long the threads of OpenMP teams spin while they wait for their next loop.
//
// libgomp: a waiting thread spins 300,000 times (milliseconds) before it sleeps. It spins 1,000 times (about the cost
// of a wake-up) once all teams together have more threads than there are cores.
// * Alone on a machine, long spins are faster. A transformer's training on two cores: 13,000 examples a second against
//   6,000.
// * Where another program needs a core, long spins are ruinous. A thread that spins uses up its time slice, and has no
//   core when its team needs it. Two cores next to two compilers ran 15 times slower than one.
//
// Programs come and go, so a thread tests twice a second. While others want cores it makes spins short: it starts one
// team more than needed, of a sleeping thread and its helper.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "argosy/base/mutex.h"

namespace argosy {

class OmpSpinPolicy {
 public:
  // `contended` says whether others want cores. A thread of this object calls it after `first`, then every `interval`.
  // Spins are long until it returns true.
  OmpSpinPolicy(std::function<bool()> contended, std::chrono::milliseconds first, std::chrono::milliseconds interval);
  ~OmpSpinPolicy();
  OmpSpinPolicy(const OmpSpinPolicy&) = delete;
  OmpSpinPolicy& operator=(const OmpSpinPolicy&) = delete;

  bool spin_is_short() const;

  // The policy of the process, from the first call until the process ends. Its threads have this name.
  static constexpr const char* kThreadName = "omp spin policy";
  static void watch_process();

 private:
  void watch();
  void set(bool spin_is_short) ARGOSY_REQUIRES(mutex_);
  void join_spare() ARGOSY_REQUIRES(mutex_);  // lets go of the mutex meanwhile

  const std::function<bool()> contended_;
  const std::chrono::milliseconds first_, interval_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool short_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread spare_;  // the extra team; runs while spins are short
  std::thread watcher_;
};

}  // namespace argosy
