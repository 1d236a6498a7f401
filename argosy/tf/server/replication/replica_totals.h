// Counts the replicated steps of all sessions of a server, and the reasons why others ran on one device. For the report
// of `argosy run`, the log, /statusz and /metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy::tf {

// The predicted durations of a step, before its first run.
struct StepTimes {
  double one_device = 0;  // seconds
  double replicated = 0;  // seconds, on `devices`
  int devices = 0;        // over which it would be replicated
  // Returns "0.4 ms a step on one device, 1.2 ms on 2".
  std::string to_string() const;
};

// A reason why training steps ran on one device.
struct OneDeviceReason {
  std::string why;                      // a text for users
  std::string node;                     // a node that the reason is about; "": not known
  std::int64_t steps = 0;               // number of steps that ended on one device for this reason
  std::optional<StepTimes> times = {};  // set if the reason is that one device is faster
};

struct ReplicaTotals {
  std::int64_t steps = 0;               // replicated steps that ran to their end
  std::string replicas;                 // of the last one: "2 devices, loss: a mean over the batch, …"
  std::optional<StepTimes> times = {};  // predicted for the last one; nullopt: not predicted
  std::int64_t small_steps = 0;         // steps on one device: fewer examples than devices
  // Reasons of steps that ran to their end, in order of appearance. At most ReplicaCounter::kMaxReasons; `more_reasons`
  // counts the steps of later reasons.
  std::vector<OneDeviceReason> reasons;
  std::int64_t more_reasons = 0;  // steps on one device for reasons that are not in `reasons`
  // With --check.
  std::int64_t checked_steps = 0;            // compared with one device, and equal
  std::int64_t differing_steps = 0;          // compared with one device, and different
  std::vector<OneDeviceReason> not_checked;  // reasons why others were not (fully) compared, at most kMaxReasons
};

// The reason in an error, and the node that the error names.
OneDeviceReason reason_of(const Status& why);

// The server's counters. Thread-safe.
class ReplicaCounter {
 public:
  static constexpr std::size_t kMaxReasons = 64;  // further reasons are only counted

  // Counts a replicated step; `replicas` says how. `times`: nullopt: nothing was predicted.
  void replicated(const std::string& replicas, const std::optional<StepTimes>& times = {});
  void small();  // Counts a step with too few examples to be sharded.
  // Registers a reason, with no step yet. False: it was known before, or there are kMaxReasons already.
  bool met(const OneDeviceReason& reason);
  // Counts a step that ran on one device for this reason.
  void on_one_device(const OneDeviceReason& reason);
  void checked(bool same);  // Counts a step that was compared with one device.
  // Counts a step that was not compared, for this reason. False: the reason was known before.
  bool not_checked(const OneDeviceReason& reason);
  ReplicaTotals totals() const;  // So far.

 private:
  static OneDeviceReason* find(std::vector<OneDeviceReason>& all, const OneDeviceReason& reason);

  mutable Mutex mutex_;
  ReplicaTotals totals_ ARGOSY_GUARDED_BY(mutex_);
};

// Return the section of /statusz, and the lines of /metrics, for these totals.
std::string status_section(const ReplicaTotals& totals);
std::string metrics_section(const ReplicaTotals& totals);  // In Prometheus' text format.

}  // namespace argosy::tf
