// GroupLeader: which task of a cluster is the leader of groups of collectives. Thread-safe.
#pragma once

#include <string>

#include "argosy/base/mutex.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class GroupLeader {
 public:
  // At first chief 0, else worker 0, else the first task of the cluster. `peers` outlives it.
  explicit GroupLeader(const Peers& peers);

  // "/job:worker/replica:0/task:0". INVALID_ARGUMENT "ARG-CLUSTER-109": it is no task of the cluster;
  // "ARG-CLUSTER-111": another one was asked for before.
  Status ask_for(const std::string& task) ARGOSY_EXCLUDES(mutex_);
  std::string name() const ARGOSY_EXCLUDES(mutex_);
  std::string asked_for() const ARGOSY_EXCLUDES(mutex_);  // "": none was
  bool is_own() const { return name() == peers_.own().to_string(); }

 private:
  const Peers& peers_;
  mutable Mutex mutex_;
  std::string name_ ARGOSY_GUARDED_BY(mutex_);
  bool asked_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
