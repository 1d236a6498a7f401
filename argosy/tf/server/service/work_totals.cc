#include "argosy/tf/server/service/work_totals.h"

#include "argosy/base/clock.h"

namespace argosy::tf {

WorkCounter::WorkCounter(const std::vector<DeviceSpec>& devices) {
  for (const DeviceSpec& spec : devices) {
    totals_.devices.push_back({.device = spec.name});
    request_names_.push_back(spec.request_name());
  }
}

void WorkCounter::session_opened() {
  MutexLock lock(mutex_);
  ++totals_.sessions;
}

void WorkCounter::step_begins() {
  MutexLock lock(mutex_);
  if (under_way_++ == 0) since_ = now_nanos();
}

void WorkCounter::step_ends(Code end, const StepStats& stats, const DeviceSet& device_set) {
  MutexLock lock(mutex_);
  if (--under_way_ == 0) totals_.busy_nanos += now_nanos() - since_;
  switch (end) {
    case Code::kOk: ++totals_.steps; break;
    case Code::kOutOfRange: ++totals_.data_ended_steps; break;
    case Code::kCancelled: ++totals_.cancelled_steps; break;
    default: ++totals_.failed_steps; break;
  }
  for (const StepStats::PerDevice& part : stats.devices) {
    const int d = device_set.find(part.device);
    const std::string name = d >= 0 ? device_set.device(d).spec().request_name() : "";
    for (std::size_t i = 0; i < request_names_.size(); ++i) {
      if (request_names_[i] != name) continue;
      WorkTotals::Device& total = totals_.devices[i];
      total.compute_nanos += part.compute_nanos;
      total.copy_nanos += part.copy_nanos;
      total.ops += part.ops;
    }
  }
}

WorkTotals WorkCounter::totals(const ReplicaTotals& replicas) const {
  MutexLock lock(mutex_);
  WorkTotals now = totals_;
  now.replicated_steps = replicas.steps;
  now.replicas = replicas.replicas;
  now.times = replicas.times;
  now.small_steps = replicas.small_steps;
  if (!replicas.reasons.empty()) now.not_replicated = replicas.reasons[0].why;
  now.reasons = replicas.reasons;
  now.more_reasons = replicas.more_reasons;
  now.checked_steps = replicas.checked_steps;
  now.differing_steps = replicas.differing_steps;
  now.not_checked = replicas.not_checked;
  if (under_way_ > 0) now.busy_nanos += now_nanos() - since_;
  return now;
}

}  // namespace argosy::tf
