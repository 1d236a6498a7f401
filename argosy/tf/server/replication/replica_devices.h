// The GPUs over which a session replicates its training steps: first its own task's, then those of its cluster's other
// Argosy tasks. Internal to the session server.
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
  std::vector<std::string> names;  // full names
  std::vector<double> speeds;
  std::size_t own = 0;  // the first so many are of the session's own task

  std::size_t size() const { return names.size(); }
  bool spans_tasks() const { return own < names.size(); }
};

// Returns the first `most` of the GPUs; 0: all. `tasks`: null for a session on one task.
ReplicaDevices replica_devices(const DeviceSet& own, const RemoteTasks* tasks, int most);

// Returns these devices, all of the session's own task.
ReplicaDevices replica_devices(std::span<const DeviceSpec> own);

// FAILED_PRECONDITION "ARG-CLUSTER-120": --replicate asks for more GPUs than these.
Status too_few_gpus(int asked, const ReplicaDevices& gpus);

// Checks that a serialised GraphDef places no variable, queue or table on another task. INVALID_ARGUMENT
// "ARG-CLUSTER-121" names one that does. A replicated session does not share its state, so clients that want to share a
// variable would each train their own.
Status check_own_state(std::string_view graph_def, const std::string& own_task);

}  // namespace argosy::tf
