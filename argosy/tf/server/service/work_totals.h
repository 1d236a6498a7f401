// Counts the work of a session server's devices over all steps of all sessions. `argosy run` reports it at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/device_set/stats.h"
#include "argosy/tf/server/replication/replica_totals.h"

namespace argosy::tf {

struct WorkTotals {
  // One device's work.
  struct Device {
    DeviceName device;               // whose work it is
    std::int64_t compute_nanos = 0;  // in kernels
    std::int64_t copy_nanos = 0;     // waiting for copies and for other devices
    std::int64_t ops = 0;            // kernels that ran
  };
  std::int64_t sessions = 0;          // sessions opened
  std::int64_t steps = 0;             // steps that ran to their end
  std::int64_t failed_steps = 0;      // steps that ended with another error than these two
  std::int64_t data_ended_steps = 0;  // steps that ended with OUT_OF_RANGE: a dataset or queue has no more elements
  std::int64_t cancelled_steps = 0;   // steps that ended with CANCELLED: session, client or queue was closed
  std::int64_t busy_nanos = 0;        // time during which at least one step was running
  // As in ReplicaTotals; counted without count_work, too.
  std::int64_t replicated_steps = 0;
  std::string replicas;                  // how, as text for users; "": none was replicated
  std::optional<StepTimes> times;        // predicted for the last one; nullopt: not predicted
  std::int64_t small_steps = 0;          // too small to be sharded
  std::string not_replicated;            // why the first step that trains could not be; "" when all could
  std::vector<OneDeviceReason> reasons;  // all of them
  std::int64_t more_reasons = 0;         // steps on one device for reasons that are not in `reasons`
  std::int64_t checked_steps = 0, differing_steps = 0;  // --check: equal, and different
  std::vector<OneDeviceReason> not_checked;             // --check: reasons why others were not compared
  std::vector<Device> devices;                          // in the order of the device set
};

// Counts WorkTotals. Thread-safe.
class WorkCounter {
 public:
  explicit WorkCounter(const std::vector<DeviceSpec>& devices);  // The devices that are counted.

  void session_opened();  // Counts a session.
  void step_begins();     // Counts a running step.
  // Counts a step that has ended, and its `stats`. `device_set`: the session's view of the server's devices, whose
  // gpu:0 may be the server's gpu:1.
  void step_ends(Code end, const StepStats& stats, const DeviceSet& device_set);
  // Returns the totals so far, with those of replication from `replicas`.
  WorkTotals totals(const ReplicaTotals& replicas) const;

 private:
  mutable Mutex mutex_;
  std::vector<std::string> request_names_;  // of totals_.devices
  WorkTotals totals_ ARGOSY_GUARDED_BY(mutex_);
  int under_way_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t since_ ARGOSY_GUARDED_BY(mutex_) = 0;  // when under_way_ last became positive
};

}  // namespace argosy::tf
