// join_job(): this process becomes a task of its job. Task 0 starts the coordinator; every task is a member of it.
//
//   ARGOSY_ASSIGN_OR_RETURN(JobPlace place, find_place(process_environment(), {}));   // environment/find_place.h
//   ARGOSY_ASSIGN_OR_RETURN(std::unique_ptr<JobTasks> job, join_job({.place = place, .devices = {"gpu:0"}, …}));
//   … job->progress(step, "all-reduce bucket 2"); …
//   ARGOSY_RETURN_IF_ERROR(job->leave());
//
// A job of one has no coordinator, no thread and no socket: SingleTask.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/cluster/job_place.h"
#include "argosy/cluster/job_tasks.h"

namespace argosy {

struct JoinOptions {
  JobPlace place;
  std::vector<std::string> devices;  // what this task trains on: "gpu:0"
  std::string version;               // of the program; must be the same on every task
  // What must be the same on every task, by option: {"--batch", "64"}. A task that differs is refused, and told where.
  std::vector<std::pair<std::string, std::string>> program;
  // Until all tasks are there. Unset: the place's, else five minutes.
  std::optional<std::chrono::milliseconds> start_timeout = {};
  std::chrono::milliseconds heartbeat{1000};  // three missed: the task is gone
  // CoordinatorOptions::stuck_after; task 0's counts.
  std::chrono::milliseconds stuck_after{-1};
  // Networks beyond loopback from which tasks may come without certificates: "10.0.0.0/8". Besides the place's.
  std::vector<std::string> insecure_networks;
  // Lines for people while this waits: who is missing, and the network's last error. May be empty.
  std::function<void(std::string_view line)> note;
};

// Returns when every task is there. Errors are of ARG-CLUSTER-030 to 059:
// * UNAVAILABLE names who did not come in time, or was lost meanwhile.
// * FAILED_PRECONDITION names the option or version that differs.
// * PERMISSION_DENIED: another token, or an address beyond loopback without a named network.
// * ALREADY_EXISTS: two processes have one rank, or the ports are taken.
Result<std::unique_ptr<JobTasks>> join_job(JoinOptions options);

}  // namespace argosy
