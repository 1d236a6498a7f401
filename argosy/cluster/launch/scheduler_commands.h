// The commands and manifests that `argosy launch --on slurm|mpi|kubernetes` makes for those schedulers. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/launch/host_slots.h"

namespace argosy {

struct SchedulerJob {
  std::vector<std::string> program;
  std::vector<HostSlots> hosts;  // empty: the scheduler chooses
  int nodes = 1, tasks_of_node = 1;
  int devices_of_node = 0;             // GPUs per node for its tasks; 0: not given
  std::string coordinator;             // "host:port" if known already, else empty
  std::vector<std::string> passed_on;  // names of variables that tasks need
  EnvironmentMap variables;            // set by the user for every task
  std::string name = "argosy", image;  // Kubernetes
  std::string token;                   // goes into the manifest's Secret
  int port = 29500;
};

// srun …; the tasks take rank and size from Slurm's variables.
std::vector<std::string> srun_command(const SchedulerJob& job);
enum class MpiKind { kOpenMpi, kHydra };
std::vector<std::string> mpirun_command(const SchedulerJob& job, MpiKind kind, bool as_root);
// A Secret, a headless Service and an Indexed Job: YAML for `kubectl apply -f -`.
Result<std::string> kubernetes_manifest(const SchedulerJob& job);

// The words as one shell command line, quoted where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace argosy
