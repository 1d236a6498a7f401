// The GPUs that a session's training steps are replicated over: its own task's, then those of the other tasks of its
// cluster that are ours. Internal to the session server.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/tasks/remote_task.h"

namespace argosy::tf {

struct ReplicaDevices {
  std::vector<std::string> names;  // full ones
  std::vector<double> speeds;
  std::size_t own = 0;  // so many of them, the first, are of the session's own task

  std::size_t size() const { return names.size(); }
  bool spans_tasks() const { return own < names.size(); }
};

// The first `most` of them; 0: all. `tasks`: null for a session on one task.
ReplicaDevices replica_devices(const DeviceSet& own, const RemoteTasks* tasks, int most);

// These, all of the session's own task.
ReplicaDevices replica_devices(std::span<const DeviceSpec> own);

// FAILED_PRECONDITION "ARG-CLUSTER-120": --replicate asks for more GPUs than these.
Status too_few_gpus(int asked, const ReplicaDevices& gpus);

// `graph_def`: serialised. INVALID_ARGUMENT "ARG-CLUSTER-121" names what keeps state on another task: replicated sessions
// have a state of their own, and clients that mean to share it would train apart.
Status check_own_state(std::string_view graph_def, const std::string& own_task);

}  // namespace argosy::tf
