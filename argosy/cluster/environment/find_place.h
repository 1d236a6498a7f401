// find_place(): who this process is in its job, from flags and environment variables.
//
//   flags → ARGOSY_CLUSTER → TF_CONFIG → Open MPI, PMI → torchrun → a Slurm step → Kubernetes Indexed Job → alone
//
// The first that speaks of a job is taken. A later one must agree on rank and size. Pure functions over a map.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/job_place.h"

namespace argosy {

using EnvironmentMap = std::map<std::string, std::string, std::less<>>;

// The variables of this process. An empty value is as none.
EnvironmentMap process_environment();

// What a command line says of the job; comes before every variable. Unset: nothing was said.
struct PlaceFlags {
  std::optional<int> rank, size;
  std::string coordinator;  // "host:port"
};

// INVALID_ARGUMENT "ARG-CLUSTER-030": a variable cannot be read. "ARG-CLUSTER-031": two sources contradict each other,
// both are named. "ARG-CLUSTER-032": variables speak of several tasks, but one of what they need is missing: never a
// job of one in silence.
Result<JobPlace> find_place(const EnvironmentMap& environment, const PlaceFlags& flags);

// "rank 1 of 4 by RANK, WORLD_SIZE (torchrun), coordinator gpu-a:29500": the line that says what was taken.
std::string describe(const JobPlace& place);

}  // namespace argosy
