// The watcher: what was started ends, or is ended.
#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/log.h"
#include "argosy/comm/nccl/nccl_group.h"

namespace argosy::cuda {

namespace {

// Whether a point of a stream is reached; an error of its GPU.
Result<bool> reached(const Event& event) {
  if (event.state() == nullptr) return true;
  if (auto* const on_gpu = dynamic_cast<CudaEvent*>(event.state().get()); on_gpu != nullptr) return on_gpu->passed();
  return event.state()->reached();
}

}  // namespace

Status NcclGroup::look_at(Watched& watched) {
  bool ready = true;
  for (const Event& event : watched.ready) {
    ARGOSY_ASSIGN_OR_RETURN(const bool passed, reached(event));
    ready = ready && passed;
  }
  if (!ready) return {};  // what it waits for is not its own time
  const std::int64_t now = now_nanos();
  if (watched.since_nanos == 0) watched.since_nanos = now;
  std::vector<std::string> missing;
  for (std::size_t r = 0; r < watched.ends.size(); ++r) {
    ARGOSY_ASSIGN_OR_RETURN(const bool passed, reached(watched.ends[r]));
    if (!passed)
      missing.push_back(
          str_cat(streams_.core(static_cast<int>(r)).owner(), " (rank ", ranks_.first + static_cast<int>(r), ")"));
  }
  if (missing.empty()) {
    watched.ends.clear();
    return {};
  }
  if (now - watched.since_nanos < limit().count()) return {};
  return deadline_exceeded(watched.what, " among ", names(), " does not end: ", str_join(missing),
                           " still in it after ", static_cast<double>(limit().count()) * 1e-9, " s")
      .with_id("ARG-COMM-004")
      .with_hint("look at these GPUs (argosy doctor); NCCL_DEBUG=INFO says more; ARGOSY_COLLECTIVE_TIMEOUT=SECONDS");
}

void NcclGroup::watch() {
  const auto period = std::clamp<std::chrono::nanoseconds>(options_.timeout / 20, std::chrono::milliseconds(1),
                                                           std::chrono::milliseconds(20));
  std::int64_t asked = now_nanos();
  while (true) {
    Status cause;
    {
      MutexLock lock(watch_mutex_);
      if (closing_) return;
      if (under_way_.empty()) {
        watch_changed_.wait(watch_mutex_);
        continue;
      }
      watch_changed_.wait_until(watch_mutex_, std::chrono::steady_clock::now() + period);
      for (auto it = under_way_.begin(); it != under_way_.end() && cause.ok();) {
        cause = look_at(*it);
        it = it->ends.empty() ? under_way_.erase(it) : std::next(it);
      }
    }
    // NCCL's own errors: of a peer that is gone, of a network.
    if (cause.ok() && now_nanos() - asked > 10 * period.count() && mutex_.try_lock()) {
      asked = now_nanos();
      for (NcclComm const comm : comms_) {
        int state = kNcclSuccess;
        if ((*nccl_)->async_error(comm, &state) != kNcclSuccess || state == kNcclSuccess || state == kNcclInProgress) {
          continue;
        }
        cause = failure("a collective", state);
        break;
      }
      mutex_.unlock();
    }
    if (cause.ok()) continue;
    ARGOSY_LOG(kWarning, cause.message(), "; its communicators are given up");
    fail_all(cause);
  }
}

void NcclGroup::fail_all(const Status& cause) {
  if (failing_.exchange(true, std::memory_order_acq_rel)) return;
  std::list<Watched> failed;
  {
    MutexLock lock(watch_mutex_);
    failed.swap(under_way_);
  }
  // First the steps, so that this is what they tell, and none goes on with half a sum. Then what they wait for ends.
  for (const Watched& each : failed) {
    const bool over = std::ranges::all_of(each.ends, [](const Event& end) { return end.state()->reached(); });
    if (!over && each.step_abort != nullptr) each.step_abort->abort(cause);
  }
  {
    MutexLock lock(mutex_);
    drop_communicators();
  }
  if (spans_tasks()) ended_.store(true, std::memory_order_release);
  failing_.store(false, std::memory_order_release);
}

}  // namespace argosy::cuda
