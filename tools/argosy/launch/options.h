// What `argosy launch` was told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "argosy/base/status.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

class Console;

// An error of the command line: exit code 2.
inline Status launch_usage(std::string message, std::string next) {
  return invalid_argument(message).with_id(kUsageId).with_where("argosy launch").with_hint(std::move(next));
}

struct LaunchOptions {
  std::string hosts, host_file, on = "auto", master_addr, log_dir, output_filename, redirects, tee, remote_argosy;
  std::string name = "argosy", image;
  std::vector<std::string> insecure_networks, exported, program;
  int local = 0, np = 0, nnodes = 0, nproc_per_node = 0, node_rank = -1, master_port = 0, start_timeout = 0;
  bool dry_run = false, agent = false;
};

// --on slurm, mpi, kubernetes: runs their command, or prints a manifest.
Result<int> launch_elsewhere(const LaunchOptions& options, Console& console);

}  // namespace argosy::cli
