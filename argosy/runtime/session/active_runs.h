// ActiveRuns: the runs of a session that are under way. begin_close() cancels them, close() waits for them too. An ActiveRun is one of
// them: it is on the list from enter() until it is destroyed, and holds its deadline and its link to a cancellation.
// Thread-safe.
#pragma once

#include <chrono>
#include <optional>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/runtime/device_set/deadlines.h"
#include "argosy/runtime/execute/run_context.h"

namespace argosy {

// CANCELLED "ARG-RUN-002".
Status session_closed();

class ActiveRun;

class ActiveRuns {
 public:
  // Cancels every run; no run can enter from now on. Does not wait. Idempotent.
  void begin_close();
  // Calls begin_close() and waits. DEADLINE_EXCEEDED "ARG-STUCK-002" where some runs have not ended `stuck_after` after
  // the first begin_close(), or are known to be stuck; zero: waits for all.
  Status close(std::chrono::milliseconds stuck_after);
  // REQUIRES: close() was called. Waits for all, stuck ones too.
  void wait();

 private:
  friend class ActiveRun;

  Mutex mutex_;
  CondVar changed_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point closed_at_ ARGOSY_GUARDED_BY(mutex_);
  ActiveRun* first_ ARGOSY_GUARDED_BY(mutex_) = nullptr;  // a list through ActiveRun::next_: entering allocates nothing
  int running_ ARGOSY_GUARDED_BY(mutex_) = 0;             // in the list
  int stuck_ ARGOSY_GUARDED_BY(mutex_) = 0;               // of those
};

class ActiveRun {
 public:
  // Both outlive it.
  ActiveRun(ActiveRuns& runs, RunContext& context) : runs_(runs), context_(context) {}
  ~ActiveRun();
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

  // CANCELLED "ARG-RUN-002" when the session is closed. REQUIRED before all else, and once.
  Status enter();
  // Cancels the run at `time` from now: DEADLINE_EXCEEDED. RESOURCE_EXHAUSTED as Deadlines::add.
  Status end_after(std::chrono::milliseconds time, Deadlines& deadlines);
  // Cancels the run when `other` is cancelled, with its reason.
  void end_with(Cancellation& other);
  // The run stays under way, but close() no longer waits for it.
  void mark_stuck();

 private:
  friend class ActiveRuns;

  ActiveRuns& runs_;
  RunContext& context_;
  // These four are guarded by runs_.mutex_.
  bool entered_ = false, stuck_ = false;
  ActiveRun *next_ = nullptr, *before_ = nullptr;
  std::optional<Deadline> deadline_;
  std::optional<CancelLink> link_;
};

}  // namespace argosy
