#include "argosy/tf/worker/partial_step_runs.h"

#include <thread>

#include "argosy/base/guard.h"

namespace argosy::tf {

PartialStepRuns::~PartialStepRuns() {
  MutexLock lock(mutex_);
  for (const auto& [id, run] : runs_) run.ended.wait();
}

Status PartialStepRuns::start(std::int64_t step_id, std::function<Status()> step,
                              std::function<void(const Status&)> abort) {
  return guarded([&]() -> Status {
    MutexLock lock(mutex_);
    if (runs_.contains(step_id)) return ok_status();
    std::packaged_task<Status()> task([step = std::move(step)] { return guarded(step); });
    std::shared_future<Status> ended = task.get_future().share();
    std::thread(std::move(task)).detach();
    runs_.emplace(step_id, Run{std::move(ended), std::move(abort)});
    return ok_status();
  });
}

Status PartialStepRuns::finish(std::int64_t step_id) {
  std::shared_future<Status> ended;
  {
    MutexLock lock(mutex_);
    const auto at = runs_.find(step_id);
    if (at == runs_.end()) return ok_status();
    ended = at->second.ended;
    runs_.erase(at);
  }
  return ended.get();
}

void PartialStepRuns::end(std::int64_t step_id, const Status& cause) {
  std::function<void(const Status&)> abort;
  {
    MutexLock lock(mutex_);
    const auto at = runs_.find(step_id);
    if (at == runs_.end()) return;
    abort = at->second.abort;
  }
  abort(cause);
  (void)finish(step_id);
}

}  // namespace argosy::tf
