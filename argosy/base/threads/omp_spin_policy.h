// OmpSpinPolicy: how long the threads of OpenMP teams wait awake for their next loop.
//
// A thread of libgomp's that waits for work spins for 300,000 turns (milliseconds) before it sleeps, but for 1,000
// (about what waking it costs) once there are more threads in teams than cores. On a machine that nobody else uses,
// long waits are the faster way (a transformer's training on two cores: 13,000 examples a second against 6,000). Where
// another program wants a core they are ruinous: whoever spins uses up its share, and is then off its core when a team
// needs it (two cores ran 15 times slower than one beside two compilers). Programs come and go, so a thread looks twice
// a second, and keeps waits short while others want cores: by one team more than needed, of a thread that sleeps and
// its helper.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "argosy/base/mutex.h"

namespace argosy {

class OmpSpinPolicy {
 public:
  // `contended`: whether others want cores; asked after `first`, then every `interval`, by a thread of this object.
  // Waits are long until it says so.
  OmpSpinPolicy(std::function<bool()> contended, std::chrono::milliseconds first, std::chrono::milliseconds interval);
  ~OmpSpinPolicy();
  OmpSpinPolicy(const OmpSpinPolicy&) = delete;
  OmpSpinPolicy& operator=(const OmpSpinPolicy&) = delete;

  bool spin_is_short() const;

  // The process's own, from the first call until it ends; its threads are called so.
  static constexpr const char* kThreadName = "omp spin policy";
  static void watch_process();

 private:
  void watch();
  void set(bool spin_is_short) ARGOSY_REQUIRES(mutex_);

  const std::function<bool()> contended_;
  const std::chrono::milliseconds first_, interval_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool short_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread spare_;  // of the team more than needed: there while waits are short
  std::thread watcher_;
};

}  // namespace argosy
