// LaunchPlan: the tasks that a launcher starts, with their hosts and environment variables. Pure functions.
//
// A program `argosy …` gets one process per host, which uses all its devices: slots are devices. Any other program gets
// one process per slot.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/launch/host_slots.h"

namespace argosy {

struct LaunchRequest {
  std::vector<HostSlots> hosts;
  bool per_slot = false;         // one process per slot
  int processes = 0;             // -np: use only so many of the slots; 0: all
  int port = 0;                  // where task 0 listens; the first of eight ports that it tries
  int first_rank = 0;            // torchrun's flags: number of tasks on the hosts before this one
  int all_tasks = 0;             // … and on all hosts; 0: the tasks of `hosts`
  std::string coordinator_host;  // empty: the first host
  std::string job;               // an id of this start
};

struct LaunchTask {
  int rank = 0, local_rank = 0, local_size = 1;
  std::string host;
  int devices = 0;             // of an argosy program; 0: not given
  EnvironmentMap environment;  // the variables to set, without the token
};

struct LaunchPlan {
  std::vector<LaunchTask> tasks;  // by rank
  std::vector<std::string> coordinators;
};

// INVALID_ARGUMENT "ARG-CLUSTER-050": more processes than slots; "ARG-CLUSTER-048": localhost beside other hosts.
Result<LaunchPlan> make_launch_plan(const LaunchRequest& request);

// True for variables of other launchers, which are removed from the environment of a task: "OMPI_COMM_WORLD_RANK",
// "TF_CONFIG" …
bool is_launcher_variable(std::string_view name);

}  // namespace argosy
