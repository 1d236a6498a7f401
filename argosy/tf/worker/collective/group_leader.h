// GroupLeader: holds which task of the cluster is the leader, which forms the groups of collectives. Thread-safe.
#pragma once

#include <string>

#include "argosy/base/mutex.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class GroupLeader {
 public:
  // The default leader is chief 0, else worker 0, else the first task of the cluster. `peers` outlives this object.
  explicit GroupLeader(const Peers& peers);

  // Sets the leader, "/job:worker/replica:0/task:0". INVALID_ARGUMENT "ARG-CLUSTER-109": it is no task of the cluster;
  // "ARG-CLUSTER-111": an earlier call has set another one.
  Status ask_for(const std::string& task) ARGOSY_EXCLUDES(mutex_);
  std::string name() const ARGOSY_EXCLUDES(mutex_);
  std::string asked_for() const ARGOSY_EXCLUDES(mutex_);  // the leader that ask_for() has set; "": none
  bool is_own() const { return name() == peers_.own().to_string(); }

 private:
  const Peers& peers_;
  mutable Mutex mutex_;
  std::string name_ ARGOSY_GUARDED_BY(mutex_);
  bool asked_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
