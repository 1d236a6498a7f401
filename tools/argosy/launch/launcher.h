// Launcher: starts an agent for each task, here or by ssh, passes its output and signals on, and ends them all when one
// has failed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/cluster/launch/launch_plan.h"
#include "tools/argosy/launch/agent.h"
#include "tools/argosy/launch/outcome.h"
#include "tools/argosy/launch/streams.h"

namespace argosy::cli {

struct LaunchedTask {
  LaunchTask place;
  AgentTask task;
  std::vector<std::string> agent;  // the command that starts it: this program, or ssh
};

// Runs until every task has ended; none is left then. One at a time, by a process with one thread.
Result<LaunchEnd> run_tasks(const std::vector<LaunchedTask>& tasks, const StreamOptions& streams);

}  // namespace argosy::cli
