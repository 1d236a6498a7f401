// Peers: one task's channels to the other tasks of its cluster, each opened when it is first needed.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/cluster/cluster_spec.h"
#include "argosy/tf/worker/peers/peer_channel.h"

namespace argosy::tf {

// Certificates towards other tasks, PEM: all or none. Ours is the one that clients see.
struct PeerCredentials {
  std::string cert, key, ca;
};

class Peers {
 public:
  // `own` need not be a task of the cluster.
  Peers(ClusterSpec cluster, TaskName own, PeerCredentials credentials)
      : cluster_(std::move(cluster)), own_(std::move(own)), credentials_(std::move(credentials)) {}
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  const ClusterSpec& cluster() const { return cluster_; }
  const TaskName& own() const { return own_; }
  const PeerCredentials& credentials() const { return credentials_; }

  // INVALID_ARGUMENT "ARG-CLUSTER-010": the cluster has no such task. RESOURCE_EXHAUSTED "ARG-THREAD-001": no thread to
  // watch the tasks.
  Result<std::shared_ptr<PeerChannel>> channel(const TaskName& task) ARGOSY_EXCLUDES(mutex_);

 private:
  void watch();

  const ClusterSpec cluster_;
  const TaskName own_;
  const PeerCredentials credentials_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::map<TaskName, std::shared_ptr<PeerChannel>> channels_ ARGOSY_GUARDED_BY(mutex_);
  std::thread watch_ ARGOSY_GUARDED_BY(mutex_);  // looks at the channels, once there is one
};

// Returns the task in a device's full name. INVALID_ARGUMENT "ARG-CLUSTER-010": the name has no task.
Result<TaskName> task_of(std::string_view device);

}  // namespace argosy::tf
