// find_place(): this process' rank, its job's size and its coordinator, from flags and environment variables.
//
//   flags → ARGOSY_CLUSTER → TF_CONFIG → Open MPI, PMI → torchrun → a Slurm step → Kubernetes Indexed Job → alone
//
// The first source that describes a job is taken. Later ones must agree on rank and size. Slurm and Kubernetes are read
// only if no earlier source describes a job. find_place() and describe() are pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/job_place.h"

namespace argosy {

using EnvironmentMap = std::map<std::string, std::string, std::less<>>;

// The environment variables of this process. A variable with an empty value counts as unset.
EnvironmentMap process_environment();

// The flags of the command line: the first source of find_place(). ARGOSY_COORDINATOR overrides the address of every
// source, also `coordinator`. Unset: the flag was not given.
struct PlaceFlags {
  std::optional<int> rank, size;
  std::string coordinator;  // "host:port"
};

// INVALID_ARGUMENT "ARG-CLUSTER-030": a variable cannot be read. "ARG-CLUSTER-031": two sources contradict each other,
// both are named. "ARG-CLUSTER-032": variables describe several tasks, but a required one is missing: it never falls
// back to a job of one silently.
Result<JobPlace> find_place(const EnvironmentMap& environment, const PlaceFlags& flags);

// "task 1 of 4 by RANK, WORLD_SIZE, coordinator gpu-a:29500": the line that reports the choice.
std::string describe(const JobPlace& place);

}  // namespace argosy
