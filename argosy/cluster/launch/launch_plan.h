// LaunchPlan: the tasks that a launcher starts: where, and with which variables. Pure functions.
//
// Of `argosy …` one process a host drives all its devices: slots are devices. Of any other program one process a slot.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/launch/host_slots.h"

namespace argosy {

struct LaunchRequest {
  std::vector<HostSlots> hosts;
  bool per_slot = false;         // one process a slot
  int processes = 0;             // -np: of all slots only so many; 0: all
  int port = 0;                  // where task 0 listens; eight from here on are tried
  int first_rank = 0;            // of torchrun's words: tasks of hosts before this one
  int all_tasks = 0;             // … and of all hosts; 0: those of `hosts`
  std::string coordinator_host;  // empty: the first host
  std::string job;               // an id of this start
};

struct LaunchTask {
  int rank = 0, local_rank = 0, local_size = 1;
  std::string host;
  int devices = 0;             // of an argosy program; 0: not said
  EnvironmentMap environment;  // set for it, the token excepted
};

struct LaunchPlan {
  std::vector<LaunchTask> tasks;  // by rank
  std::vector<std::string> coordinators;
};

// INVALID_ARGUMENT "ARG-CLUSTER-050": more processes than slots; "ARG-CLUSTER-048": localhost beside other hosts.
Result<LaunchPlan> make_launch_plan(const LaunchRequest& request);

// Variables of other launchers, which a task of ours must not see: "OMPI_COMM_WORLD_RANK", "TF_CONFIG" …
bool is_launcher_variable(std::string_view name);

}  // namespace argosy
