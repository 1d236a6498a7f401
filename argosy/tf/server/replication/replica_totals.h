// Counts replicated steps over all sessions of a server, and the reasons why others ran on one device. For the report
// of `argosy run`, the log, /statusz and /metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy::tf {

// What a step was predicted to take, before its first run.
struct StepTimes {
  double one_device = 0;  // seconds
  double replicated = 0;  // seconds, on `devices`
  int devices = 0;        // that it would run on
  // "0.4 ms a step, 1.2 ms on 2 devices".
  std::string to_string() const;
};

// A reason why training steps ran on one device.
struct OneDeviceReason {
  std::string why;                      // for people
  std::string node;                     // a node that the reason is about; "": not known
  std::int64_t steps = 0;               // that ended on one device for this reason
  std::optional<StepTimes> times = {};  // where the reason is that one device is faster
};

struct ReplicaTotals {
  std::int64_t steps = 0;               // replicated, run to their end
  std::string replicas;                 // of the last one: "2 devices, loss: a mean over the batch, …"
  std::optional<StepTimes> times = {};  // of the last one, where the cost model was asked
  std::int64_t small_steps = 0;         // ran on one device: fewer examples than devices
  // Reasons of steps that ran to their end, in order of appearance. At most ReplicaCounter::kMaxReasons; `more_reasons`
  // counts the steps of later reasons.
  std::vector<OneDeviceReason> reasons;
  std::int64_t more_reasons = 0;  // reasons that had no place
  // With --check.
  std::int64_t checked_steps = 0;            // were compared with one device's
  std::int64_t differing_steps = 0;          // of these, the ones that differed
  std::vector<OneDeviceReason> not_checked;  // reasons why others were not (fully) compared, at most kMaxReasons
};

// The reason in an error, and the node that the error names.
OneDeviceReason reason_of(const Status& why);

// The server's counters. Thread-safe.
class ReplicaCounter {
 public:
  static constexpr std::size_t kMaxReasons = 64;  // further reasons are only counted

  // One step was replicated; `replicas` says how. `times`: nothing where the cost model was not asked.
  void replicated(const std::string& replicas, const std::optional<StepTimes>& times = {});
  void small();  // One step was too small to be sharded.
  // Registers a reason, with no step yet. False if it was known before.
  bool met(const OneDeviceReason& reason);
  // Counts a step that ran on one device for this reason.
  void on_one_device(const OneDeviceReason& reason);
  void checked(bool same);  // One step was compared with one device.
  // False if this reason was known before.
  bool not_checked(const OneDeviceReason& reason);
  ReplicaTotals totals() const;  // So far.

 private:
  static OneDeviceReason* find(std::vector<OneDeviceReason>& all, const OneDeviceReason& reason);

  mutable Mutex mutex_;
  ReplicaTotals totals_ ARGOSY_GUARDED_BY(mutex_);
};

// The section of /statusz, and the lines of /metrics, for these totals.
std::string status_section(const ReplicaTotals& totals);
std::string metrics_section(const ReplicaTotals& totals);  // Of Prometheus' text format.

}  // namespace argosy::tf
