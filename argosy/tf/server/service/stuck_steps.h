// StuckSteps: the steps of a server that have ended while a kernel of theirs still runs. For /statusz and /metrics.
// Thread-safe.
#pragma once

#include <map>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/runtime/device_set/watchdog.h"

namespace argosy::tf {

class StuckSteps {
 public:
  using Key = const void*;  // the StuckCall
  void add(Key key, const StuckStep& step) ARGOSY_EXCLUDES(mutex_);
  void remove(Key key) ARGOSY_EXCLUDES(mutex_);
  int now() const ARGOSY_EXCLUDES(mutex_);

  // Returns the section of /statusz; "": nothing is stuck.
  std::string status_section() const ARGOSY_EXCLUDES(mutex_);
  // Returns the lines of /metrics: how many are stuck now and were in all; for each the node, op, device and seconds.
  std::string metrics_section() const ARGOSY_EXCLUDES(mutex_);

 private:
  struct Entry {
    StuckStep step;
    std::int64_t over_at = 0;  // now_nanos() when its step ended
  };
  mutable Mutex mutex_;
  std::map<Key, Entry> entries_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t total_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::tf
