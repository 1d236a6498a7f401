// Reading of single environment variables, shared by the sources of a JobPlace.
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

// The value, or "" where it is not set.
std::string_view text_of(const EnvironmentMap& environment, std::string_view name);
bool has(const EnvironmentMap& environment, std::string_view name);

// A number from `least` to `most`. "ARG-CLUSTER-030" names the variable; "ARG-CLUSTER-032": it is not set.
Result<int> number_of(const EnvironmentMap& environment, std::string_view name, int least = 0, int most = kMostTasks);
Result<int> number_or(const EnvironmentMap& environment, std::string_view name, int otherwise, int least = 0,
                      int most = kMostTasks);

// rank < size, local_rank < local_size <= size, by those names.
Status check_numbers(const JobPlace& place);

// host:port … host:port+7, as far as there are ports.
std::vector<std::string> eight_ports(const std::string& host, int first);
// A first port from 20000 to 31992 that depends on the id alone: below those that systems give out by themselves.
int port_of_job(std::string_view id);

// The sources, each in a file of its own. Nothing: its variables do not speak of a job.
using FoundPlace = Result<std::optional<JobPlace>>;
FoundPlace place_of_argosy(const EnvironmentMap& environment);
FoundPlace place_of_tf_config(const EnvironmentMap& environment);
FoundPlace place_of_openmpi(const EnvironmentMap& environment);
FoundPlace place_of_pmi(const EnvironmentMap& environment);
FoundPlace place_of_torchrun(const EnvironmentMap& environment);
FoundPlace place_of_slurm(const EnvironmentMap& environment);
FoundPlace place_of_kubernetes(const EnvironmentMap& environment);

}  // namespace argosy
