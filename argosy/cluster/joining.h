// How a task finds its coordinator and waits until the job is complete.
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

// The job as a task knows it once it is complete.
struct JoinedJob {
  std::unique_ptr<CoordinatorClient> client;
  std::uint64_t coordinator = 0;  // its incarnation
  std::string local_address;      // of the interface by which it was reached
  std::vector<JobTask> tasks;     // by rank
};

struct JoinPlan {
  std::vector<std::string> addresses;  // asked in turn
  std::vector<std::string> networks;   // that were named: as CoordinatorServerOptions::insecure_networks
  JobToken token;
  JoinCall call;
  std::chrono::milliseconds start_timeout{300'000};
  std::function<void(std::string_view)> note;  // may be empty
  CoordinatorServer* server = nullptr;         // of task 0: it says who is missing
};

// Asks until the job is complete, an error says that it never will be, or the time is over.
Result<JoinedJob> wait_for_job(const JoinPlan& plan);

}  // namespace argosy
