// What the devices of a session server did, over all steps of all sessions. `argosy run` reports it at the end.
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
    DeviceName device;               // which one
    std::int64_t compute_nanos = 0;  // kernels
    std::int64_t copy_nanos = 0;     // waiting for copies and for other devices
    std::int64_t ops = 0;            // kernels that ran
  };
  std::int64_t sessions = 0;          // opened
  std::int64_t steps = 0;             // run to their end
  std::int64_t failed_steps = 0;      // that ended with an error, other than these two
  std::int64_t data_ended_steps = 0;  // with OUT_OF_RANGE: a dataset or queue has no more
  std::int64_t cancelled_steps = 0;   // with CANCELLED: its session, client or queue was closed
  std::int64_t busy_nanos = 0;        // at least one step was under way
  // As in ReplicaTotals; counted without count_work, too.
  std::int64_t replicated_steps = 0;
  std::string replicas;                  // how, for people; "": none was replicated
  std::optional<StepTimes> times;        // of the last one, where the cost model was asked
  std::int64_t small_steps = 0;          // too small to be sharded
  std::string not_replicated;            // why the first step that trains could not be; "" when all could
  std::vector<OneDeviceReason> reasons;  // all of them
  std::int64_t more_reasons = 0;         // reasons that had no place
  std::int64_t checked_steps = 0, differing_steps = 0;  // by --check
  std::vector<OneDeviceReason> not_checked;             // and why
  std::vector<Device> devices;                          // in the order of the device set
};

// Adds up. Thread-safe.
class WorkCounter {
 public:
  explicit WorkCounter(const std::vector<DeviceSpec>& devices);  // The devices that are counted.

  void session_opened();  // One session more.
  void step_begins();     // One step more is under way.
  // How a step ended, and its `stats` on these devices, the session's own view of the server's: what it calls gpu:0 may
  // be the server's gpu:1.
  void step_ends(Code end, const StepStats& stats, const DeviceSet& device_set);
  // Copies `replicas` into the result.
  WorkTotals totals(const ReplicaTotals& replicas) const;

 private:
  mutable Mutex mutex_;
  std::vector<std::string> request_names_;  // of totals_.devices
  WorkTotals totals_ ARGOSY_GUARDED_BY(mutex_);
  int under_way_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t since_ ARGOSY_GUARDED_BY(mutex_) = 0;  // when the first of those under way began
};

}  // namespace argosy::tf
