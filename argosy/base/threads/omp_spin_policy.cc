#include "argosy/base/threads/omp_spin_policy.h"

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <system_error>
#include <utility>

#include "argosy/base/guard.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/threads/core_use.h"
#include "argosy/base/threads/idle_team.h"
#include "argosy/base/threads/parallel.h"

namespace argosy {

namespace {

// Short enough that a run of seconds loses little to a wrong beginning, long enough for the kernel's ticks.
constexpr std::chrono::milliseconds kFirst{100}, kInterval{500};

// Whether others want this process's cores. Teams of a process that rests do not wait, and it is not to be woken for
// more than a glance at its own clock.
class ContentionProbe {
 public:
  explicit ContentionProbe(double spare) : detector_(spare) {}
  bool operator()() {
    const auto before = std::exchange(used_, process_time());
    if (used_ - before < kFirst / 20) {
      rested_ = true;
      return false;
    }
    const CoreUse use = meter_.read();
    if (std::exchange(rested_, false)) return false;  // this was of the rest as well
    return detector_.detect(use);
  }

 private:
  CoreUseMeter meter_;
  ContentionDetector detector_;
  std::chrono::nanoseconds used_ = process_time();
  bool rested_ = false;
};

}  // namespace

OmpSpinPolicy::OmpSpinPolicy(std::function<bool()> contended, std::chrono::milliseconds first,
                             std::chrono::milliseconds interval)
    : contended_(std::move(contended)), first_(first), interval_(interval) {
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::exception&) {  // no thread to be had: waits stay as they are
  }
}

OmpSpinPolicy::~OmpSpinPolicy() {
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  MutexLock lock(mutex_);
  set(false);
  join_spare();
}

bool OmpSpinPolicy::spin_is_short() const {
  MutexLock lock(mutex_);
  return short_;
}

void OmpSpinPolicy::watch() {
  std::chrono::milliseconds wait = first_;
  MutexLock lock(mutex_);
  while (true) {
    const auto next = std::chrono::steady_clock::now() + std::exchange(wait, interval_);
    while (!over_ && changed_.wait_until(mutex_, next)) {
    }
    if (over_) return;
    mutex_.unlock();
    bool now = false;
    contained("looking at the cores' use", [&] { now = contended_(); });
    mutex_.lock();
    set(now);
  }
}

void OmpSpinPolicy::set(bool spin_is_short) {
  if (spin_is_short == short_) return;
  if (spin_is_short) {
    join_spare();  // one that found no second thread has ended
    try {
      spare_ = std::thread([this] {
        bool started = false;
        contained("starting a team of OpenMP threads", [&] { started = start_idle_team(2); });
        {
          MutexLock lock(mutex_);
          if (!started) short_ = false;  // no thread to be had: waits stay long
          while (short_ && !over_) changed_.wait(mutex_);
        }
        release_omp_team();
      });
    } catch (const std::exception&) {  // no thread to be had: waits stay long
      return;
    }
    short_ = true;
    return;
  }
  short_ = false;
  changed_.notify_all();
  join_spare();
}

void OmpSpinPolicy::join_spare() {
  if (!spare_.joinable()) return;
  mutex_.unlock();
  spare_.join();
  mutex_.lock();
}

void OmpSpinPolicy::watch_process() {
#if !defined(ARGOSY_TSAN)
  // Never destroyed: teams compute until the very end.
  static const OmpSpinPolicy* const waits = [] {
    // Cores of the mask beyond a quota are others' anyway.
    cpu_set_t mask;
    CPU_ZERO(&mask);
    const int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : available_cores();
    const auto probe = std::make_shared<ContentionProbe>(cores - available_cores());
    // Threads inherit the name of who starts them.
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_setname_np(pthread_self(), kThreadName);
    auto* const made = new OmpSpinPolicy([probe] { return (*probe)(); }, kFirst, kInterval);
    pthread_setname_np(pthread_self(), name);
    return made;
  }();
  static_cast<void>(waits);
#endif
}

}  // namespace argosy
