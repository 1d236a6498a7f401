// What replication did over all sessions of a server, and what it could not do and why: for the report of `argosy run`,
// for the log, /statusz and /metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy::tf {

// A reason why training steps ran on one device.
struct OneDeviceReason {
  std::string why;         // for people
  std::string node;        // one that the reason is about; "" where none is known
  std::int64_t steps = 0;  // that ran to their end on one device for this reason
};

struct ReplicaTotals {
  std::int64_t steps = 0;        // replicated, run to their end
  std::string replicas;          // of the last of them: "2 devices, loss: a mean over the batch, …"
  std::int64_t small_steps = 0;  // trained on one device: too few examples for every device to have one
  // In the order met. At most ReplicaCounter::kMaxReasons; steps of later ones are in `more_reasons`.
  std::vector<OneDeviceReason> reasons;
  std::int64_t more_reasons = 0;  // reasons that had no place
  // With --check: steps that were compared with one device's, those that were another, and why others were not compared
  // (or not wholly), at most kMaxReasons reasons.
  std::int64_t checked_steps = 0, differing_steps = 0;  // by --check
  std::vector<OneDeviceReason> not_checked;             // and why
};

// The reason in an error, and the node that the error names.
OneDeviceReason reason_of(const Status& why);

// Adds up. Thread-safe.
class ReplicaCounter {
 public:
  static constexpr std::size_t kMaxReasons = 64;  // further reasons are only counted

  void replicated(const std::string& replicas);  // One step was replicated; `replicas` says how.
  void small();                                  // One step was too small to be sharded.
  // A reason is known from now on, with no step yet. False when it was known before.
  bool met(const OneDeviceReason& reason);
  // A step ran on one device for it.
  void on_one_device(const OneDeviceReason& reason);
  void checked(bool same);  // One step was compared with one device.
  // False when this reason was told before.
  bool not_checked(const OneDeviceReason& reason);
  ReplicaTotals totals() const;  // So far.

 private:
  static OneDeviceReason* find(std::vector<OneDeviceReason>& all, const OneDeviceReason& reason);

  mutable Mutex mutex_;
  ReplicaTotals totals_ ARGOSY_GUARDED_BY(mutex_);
};

// Of these totals, a section of /statusz, and what /metrics has.
std::string status_section(const ReplicaTotals& totals);
std::string metrics_section(const ReplicaTotals& totals);  // Of Prometheus' text format.

}  // namespace argosy::tf
