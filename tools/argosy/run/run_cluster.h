// The cluster of a script under `argosy run`: which task its server is, and how the hook starts other servers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/argosy/serve/serve_cluster.h"

namespace argosy::cli {

// As cluster_task(). A TF_CONFIG whose task is no task of its cluster (an evaluator) makes a run alone. Networks may be
// named without a cluster: the script may have one of its own.
Result<std::optional<tf::ClusterTask>> task_of_run(const ClusterFlags& flags);

// ARGOSY_CLUSTER_TASK, the task that this process serves, ARGOSY_SERVE, the command for others, and TF_CONFIG where it
// does not say the same yet: "NAME=value" each.
// `serve_flags`: this run's flags of `argosy serve` (how steps run, who may connect, which files), for them as well.
std::vector<std::string> server_environment(const std::optional<tf::ClusterTask>& task, const DeviceRequest& devices,
                                            const std::vector<std::string>& serve_flags);

}  // namespace argosy::cli
