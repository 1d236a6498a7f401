#include "argosy/tf/session/work_totals.h"

#include "argosy/base/clock.h"

namespace argosy::tf {

WorkCounter::WorkCounter(const std::vector<DeviceSpec>& devices) {
  for (const DeviceSpec& spec : devices) totals_.devices.push_back({.device = spec.name});
}

void WorkCounter::session_opened() {
  MutexLock lock(mutex_);
  ++totals_.sessions;
}

void WorkCounter::step_begins() {
  MutexLock lock(mutex_);
  if (under_way_++ == 0) since_ = now_nanos();
}

void WorkCounter::step_ends(bool ok, const StepStats& stats) {
  MutexLock lock(mutex_);
  if (--under_way_ == 0) totals_.busy_nanos += now_nanos() - since_;
  ++(ok ? totals_.steps : totals_.failed_steps);
  for (const StepStats::PerDevice& part : stats.devices) {
    for (WorkTotals::Device& total : totals_.devices) {
      if (!(total.device == part.device)) continue;
      total.compute_nanos += part.compute_nanos;
      total.copy_nanos += part.copy_nanos;
      total.ops += part.ops;
    }
  }
}

void WorkCounter::step_was_replicated(const std::string& replicas) {
  MutexLock lock(mutex_);
  ++totals_.replicated_steps;
  totals_.replicas = replicas;
}

void WorkCounter::step_not_replicated(const std::string& why) {
  MutexLock lock(mutex_);
  if (totals_.not_replicated.empty()) totals_.not_replicated = why;
}

void WorkCounter::step_was_small() {
  MutexLock lock(mutex_);
  ++totals_.small_steps;
}

WorkTotals WorkCounter::totals() const {
  MutexLock lock(mutex_);
  WorkTotals now = totals_;
  if (under_way_ > 0) now.busy_nanos += now_nanos() - since_;
  return now;
}

}  // namespace argosy::tf
