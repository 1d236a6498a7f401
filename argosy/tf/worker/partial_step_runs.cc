#include "argosy/tf/worker/partial_step_runs.h"

#include <thread>

#include "argosy/base/guard.h"

namespace argosy::tf {

PartialStepRuns::~PartialStepRuns() {
  MutexLock lock(mutex_);
  for (const auto& [id, run] : runs_) run.wait();
}

Status PartialStepRuns::start(std::int64_t step_id, std::function<Status()> step) {
  return guarded([&]() -> Status {
    MutexLock lock(mutex_);
    if (runs_.contains(step_id)) return ok_status();
    std::packaged_task<Status()> task([step = std::move(step)] { return guarded(step); });
    std::shared_future<Status> ended = task.get_future().share();
    std::thread(std::move(task)).detach();
    runs_.emplace(step_id, std::move(ended));
    return ok_status();
  });
}

Status PartialStepRuns::finish(std::int64_t step_id) {
  std::shared_future<Status> ended;
  {
    MutexLock lock(mutex_);
    const auto at = runs_.find(step_id);
    if (at == runs_.end()) return ok_status();
    ended = at->second;
    runs_.erase(at);
  }
  return ended.get();
}

}  // namespace argosy::tf
