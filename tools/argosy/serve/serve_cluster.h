// The flags by which `argosy serve` and `argosy run` are told their cluster: --cluster, --job, --task, or TF_CONFIG.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/tf/server/transport/session_server.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

struct ClusterFlags {
  std::string cluster, job;                // JSON or @FILE; the job of this task
  int task = -1;                           // its number; -1: not said
  std::vector<std::string> insecure = {};  // networks whose tasks and clients may come without certificate
};

// Declares them. `flags` must outlive the command.
void add_cluster_flags(Command& command, ClusterFlags& flags);

// Which task of which cluster this is; unset: neither flags nor TF_CONFIG speak of one.
// INVALID_ARGUMENT: flags that contradict each other, a task that the cluster has not ("ARG-CLUSTER-015").
Result<std::optional<tf::ClusterTask>> cluster_task(const ClusterFlags& flags);

// Fills in where the server listens, and whom ARGOSY_INSECURE_CLUSTER lets in besides `flags`. `port` and `host`: as
// given, or -1 and "". Call it after set_access().
// INVALID_ARGUMENT "ARG-CLUSTER-016": they contradict the cluster.
Status listen_as(const tf::ClusterTask& task, int port, const std::string& host, const ClusterFlags& flags,
                 tf::SessionServerOptions& server);

}  // namespace argosy::cli
