// wait_for_job(): a task finds its coordinator, joins, and waits until all tasks have. Internal to argosy/cluster.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/cluster/coordinator/coordinator_client.h"
#include "argosy/cluster/coordinator/coordinator_server.h"

namespace argosy {

// A job after all tasks have joined.
struct JoinedJob {
  std::unique_ptr<CoordinatorClient> client;
  std::uint64_t coordinator = 0;  // its incarnation
  std::string local_address;      // of the interface by which the coordinator was reached
  std::vector<JobTask> tasks;     // by rank
};

struct JoinPlan {
  std::vector<std::string> addresses;  // of the coordinator, tried in turn
  std::vector<std::string> networks;   // as CoordinatorServerOptions::insecure_networks
  JobToken token;
  JoinCall call;
  std::chrono::milliseconds start_timeout{300'000};
  std::function<void(std::string_view)> note;  // may be empty
  CoordinatorServer* server = nullptr;         // task 0's, else null; it knows the missing tasks
};

// Retries until all tasks have joined, a permanent error occurs, or the time is over. The first answer of the
// coordinator starts the time anew, so that its deadline comes first and all tasks tell its cause.
Result<JoinedJob> wait_for_job(const JoinPlan& plan);

}  // namespace argosy
