// PartialStepRuns: steps that a client runs in several calls. The first RunGraph starts the step, which goes on between
// the calls. Each call brings values and takes some away; the last waits for the end. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy::tf {

class PartialStepRuns {
 public:
  ~PartialStepRuns();  // REQUIRES: every step was ended; waits for them

  // Runs `step` on a thread of its own, unless this step was started before. RESOURCE_EXHAUSTED: there is no thread.
  // `abort` ends the run early, before or while it runs.
  Status start(std::int64_t step_id, std::function<Status()> step, std::function<void(const Status&)> abort)
      ARGOSY_EXCLUDES(mutex_);
  // Waits for the step's end, forgets it, and returns its status. OK: it was not started here.
  Status finish(std::int64_t step_id) ARGOSY_EXCLUDES(mutex_);
  // Aborts the step for this reason, waits for its end and forgets it. Does nothing if it was not started here.
  void end(std::int64_t step_id, const Status& cause) ARGOSY_EXCLUDES(mutex_);

 private:
  struct Run {
    std::shared_future<Status> ended;
    std::function<void(const Status&)> abort;
  };
  Mutex mutex_;
  std::map<std::int64_t, Run> runs_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
