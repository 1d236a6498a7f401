// Watchdog: names a kernel that runs on although its step should have ended (deadline, cancellation, closed session).
// Nothing is freed under such a kernel: the step's thread, memory and session stay until it ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/timers.h"
#include "argosy/runtime/execute/run_context.h"

namespace argosy {

// One kernel that has a thread now.
struct RunningKernel {
  std::string node, op, device;
};

// A step that did not end in time after it was cancelled.
struct StuckStep {
  std::int64_t step = 0;
  std::vector<RunningKernel>
      kernels;  // empty: no kernel has a thread; the step is being compiled, or an asynchronous op never ended
  std::chrono::milliseconds since{0};  // since it was cancelled
  Status status;                       // what ended it, with the kernels' names

  std::string what() const;  // "node 'a/b' (Svd) on cpu:0"
};

// Returns the kernels that have a thread in a run now, as text. May be called from any thread while it is under way.
std::string stuck_text(const RunContext& context);

// An observer that the caller of a step may pass, to hear of a stuck kernel. stuck() is called by a timer's thread,
// ended() by the thread that ran the step. Both must return soon.
class StuckObserver {
 public:
  virtual ~StuckObserver() = default;
  virtual void stuck(const StuckStep& step) = 0;
  virtual void ended(const StuckStep& step) = 0;  // after stuck(), when it ends after all
};

// The watchdog of one session. Thread-safe.
class Watchdog {
 public:
  // A step counts as stuck at `after` from its cancellation; zero or less: never.
  explicit Watchdog(std::chrono::milliseconds after) : after_(after) {}

  // Watches a run while it lives. `told`, and `observer` if there is one, are called at most once when it is stuck.
  class Watch {
   public:
    Watch(Watchdog& dog, RunContext& context, std::function<void()> told, StuckObserver* observer);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    void over();
    void look();

    Watchdog& dog_;
    RunContext& context_;
    const std::function<void()> told_;
    StuckObserver* const observer_;
    Cancellation::Token token_ = 0;
    bool linked_ = false;
    Mutex mutex_;
    Timers::Token timer_ ARGOSY_GUARDED_BY(mutex_) = 0;
    Timers::Time since_ ARGOSY_GUARDED_BY(mutex_);
    std::unique_ptr<StuckStep> stuck_ ARGOSY_GUARDED_BY(mutex_);
  };

 private:
  const std::chrono::milliseconds after_;
  Timers timers_;
};

}  // namespace argosy
