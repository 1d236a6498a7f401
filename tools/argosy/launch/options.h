// What `argosy launch` was told.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

class Console;

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
