// What the devices of a session server did, over all steps of all sessions: what `argosy run` tells at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/stats.h"

namespace argosy::tf {

struct WorkTotals {
  struct Device {
    DeviceName device;
    std::int64_t compute_nanos = 0;  // kernels
    std::int64_t copy_nanos = 0;     // waiting for copies and for other devices
    std::int64_t ops = 0;
  };
  std::int64_t sessions = 0;  // opened
  std::int64_t steps = 0;     // run to their end
  std::int64_t failed_steps = 0;
  std::int64_t busy_nanos = 0;        // at least one step was under way
  std::int64_t replicated_steps = 0;  // of those that ran to their end
  std::string replicas;               // of the last of them: "2 devices, loss: a mean over the batch, …"
  std::int64_t small_steps = 0;       // trained on one device: too few examples for every device to have one
  std::string not_replicated;         // why the first step that trains could not be; "" when all could
  std::vector<Device> devices;
};

// Adds up. Thread-safe.
class WorkCounter {
 public:
  explicit WorkCounter(const std::vector<DeviceSpec>& devices);

  void session_opened();
  void step_begins();
  // `stats` of a step that went well; its devices are known by name, others are not counted.
  void step_ends(bool ok, const StepStats& stats);
  void step_was_replicated(const std::string& replicas);
  void step_not_replicated(const std::string& why);
  void step_was_small();
  WorkTotals totals() const;

 private:
  mutable Mutex mutex_;
  WorkTotals totals_ ARGOSY_GUARDED_BY(mutex_);
  int under_way_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t since_ ARGOSY_GUARDED_BY(mutex_) = 0;  // when the first of those under way began
};

}  // namespace argosy::tf
