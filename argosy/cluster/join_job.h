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
  // Options that must be equal on every task: {"--batch", "64"}. A task that differs is refused, with the first
  // difference.
  std::vector<std::pair<std::string, std::string>> program;
  // Limit for all tasks to join. Unset: that of `place`, else five minutes.
  std::optional<std::chrono::milliseconds> start_timeout = {};
  std::chrono::milliseconds heartbeat{1000};  // after three missed ones a task is lost
  // CoordinatorOptions::stuck_after. Only task 0's value is used.
  std::chrono::milliseconds stuck_after{-1};
  // Networks beyond loopback from which tasks may connect without certificates: "10.0.0.0/8". Added to those of
  // `place`.
  std::vector<std::string> insecure_networks;
  // Called with lines for people during the wait: the missing tasks, and the network's last error. May be empty.
  std::function<void(std::string_view line)> note;
};

// Returns when every task has joined. Errors are ARG-CLUSTER-030 to 059:
// * UNAVAILABLE names the tasks that did not join in time, or were lost meanwhile.
// * FAILED_PRECONDITION names the option or version that differs.
// * PERMISSION_DENIED: a wrong token, or an address beyond loopback without a named network.
// * ALREADY_EXISTS: two processes have one rank, or the ports are taken.
Result<std::unique_ptr<JobTasks>> join_job(JoinOptions options);

}  // namespace argosy
