// Reads environment variables; declares the sources of a JobPlace. Internal to argosy/cluster/environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"

namespace argosy {

inline constexpr int kMostTasks = 1 << 20;
inline constexpr int kPortsTried = 8;
inline constexpr int kDefaultPort = 29500;  // torchrun's

// The value, or "" if it is not set.
std::string_view text_of(const EnvironmentMap& environment, std::string_view name);
bool has(const EnvironmentMap& environment, std::string_view name);

// A number from `least` to `most`. "ARG-CLUSTER-030" names the variable; "ARG-CLUSTER-032": it is not set.
Result<int> number_of(const EnvironmentMap& environment, std::string_view name, int least = 0, int most = kMostTasks);
Result<int> number_or(const EnvironmentMap& environment, std::string_view name, int otherwise, int least = 0,
                      int most = kMostTasks);

// Checks rank < size and local_rank < local_size <= size. INVALID_ARGUMENT "ARG-CLUSTER-030" names `place.source`.
Status check_numbers(const JobPlace& place);

// host:first … host:first+7, without ports above 65535.
std::vector<std::string> eight_ports(const std::string& host, int first);
// A first port from 20000 to 31992 that depends only on the id. The range is below the ephemeral ports.
int port_of_job(std::string_view id);

// The sources, each in a file of its own. nullopt: its variables do not describe a job.
using FoundPlace = Result<std::optional<JobPlace>>;
FoundPlace place_of_argosy(const EnvironmentMap& environment);
FoundPlace place_of_tf_config(const EnvironmentMap& environment);
FoundPlace place_of_openmpi(const EnvironmentMap& environment);
FoundPlace place_of_pmi(const EnvironmentMap& environment);
FoundPlace place_of_torchrun(const EnvironmentMap& environment);
FoundPlace place_of_slurm(const EnvironmentMap& environment);
FoundPlace place_of_kubernetes(const EnvironmentMap& environment);

}  // namespace argosy
