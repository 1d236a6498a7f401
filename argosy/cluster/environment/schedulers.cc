// A step of Slurm (srun), and a Kubernetes Indexed Job.
#include <algorithm>

#include "argosy/cluster/environment/host_list.h"
#include "argosy/cluster/environment/variables.h"

namespace argosy {

namespace {

constexpr std::size_t kLongestName = 253;               // of a host, as name servers have it
constexpr long long kFirstSpecialStep = 4'294'967'280;  // batch scripts, interactive shells: no steps of srun

bool is_step(const EnvironmentMap& environment) {
  const std::string_view step = text_of(environment, "SLURM_STEP_ID");
  return !step.empty() && std::atoll(std::string(step).c_str()) < kFirstSpecialStep && has(environment, "SLURM_PROCID");
}

// Hosts of each rank, as srun deals tasks out in blocks; empty where another distribution was asked for.
Result<std::vector<std::string>> hosts_of_ranks(const EnvironmentMap& environment,
                                                const std::vector<std::string>& hosts, int size) {
  std::vector<std::string> of_ranks;
  const std::string_view distribution = text_of(environment, "SLURM_DISTRIBUTION");
  if (!has(environment, "SLURM_STEP_TASKS_PER_NODE") || (!distribution.empty() && !distribution.starts_with("block"))) {
    return of_ranks;
  }
  auto counts = expand_counts(text_of(environment, "SLURM_STEP_TASKS_PER_NODE"));
  if (!counts.ok()) return std::move(counts).status().with_where("SLURM_STEP_TASKS_PER_NODE");
  for (std::size_t i = 0; i < std::min(hosts.size(), counts->size()); ++i) {
    if (static_cast<int>(of_ranks.size()) + (*counts)[i] > size) return std::vector<std::string>();
    of_ranks.insert(of_ranks.end(), static_cast<std::size_t>((*counts)[i]), hosts[i]);
  }
  if (static_cast<int>(of_ranks.size()) != size) of_ranks.clear();
  return of_ranks;
}

}  // namespace

FoundPlace place_of_slurm(const EnvironmentMap& environment) {
  if (!has(environment, "SLURM_PROCID")) return std::optional<JobPlace>();
  if (!is_step(environment)) {
    JobPlace alone{.source = "SLURM_JOB_ID without a step"};
    ARGOSY_ASSIGN_OR_RETURN(const int tasks, number_or(environment, "SLURM_NTASKS", 1, 1));
    if (tasks > 1) alone.source = str_cat("a batch script that has ", tasks, " tasks and no srun: type srun argosy …");
    return std::optional<JobPlace>(std::move(alone));
  }
  JobPlace place{.source = "SLURM_PROCID, SLURM_STEP_NUM_TASKS"};
  const bool of_step = has(environment, "SLURM_STEP_NUM_TASKS");
  ARGOSY_ASSIGN_OR_RETURN(place.size, number_of(environment, of_step ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.rank, number_of(environment, "SLURM_PROCID"));
  place.job = str_cat("slurm ", text_of(environment, "SLURM_JOB_ID"), ".", text_of(environment, "SLURM_STEP_ID"));
  if (place.size == 1) return std::optional<JobPlace>(std::move(place));
  ARGOSY_ASSIGN_OR_RETURN(place.local_rank, number_of(environment, "SLURM_LOCALID"));
  const std::string_view list = text_of(environment, "SLURM_STEP_NODELIST");
  if (list.empty()) return number_of(environment, "SLURM_STEP_NODELIST").status();
  auto hosts = expand_host_list(list);
  if (!hosts.ok()) return std::move(hosts).status().with_where("SLURM_STEP_NODELIST");
  ARGOSY_ASSIGN_OR_RETURN(place.hosts, hosts_of_ranks(environment, *hosts, place.size));
  if (!place.hosts.empty()) {
    const std::string& own = place.hosts[static_cast<std::size_t>(std::min(place.rank, place.size - 1))];
    place.local_size = static_cast<int>(std::count(place.hosts.begin(), place.hosts.end(), own));
  } else {
    place.local_size = hosts->size() == 1 ? place.size : place.local_rank + 1;
  }
  const std::string host = hosts->size() == 1 ? "127.0.0.1" : hosts->front();
  place.coordinators = eight_ports(host, port_of_job(place.job));
  return std::optional<JobPlace>(std::move(place));
}

FoundPlace place_of_kubernetes(const EnvironmentMap& environment) {
  // An Indexed Job without ARGOSY_TASKS is a sweep of tasks that do not know each other.
  if (!has(environment, "ARGOSY_TASKS")) return std::optional<JobPlace>();
  JobPlace place{.source = "JOB_COMPLETION_INDEX, ARGOSY_TASKS"};
  ARGOSY_ASSIGN_OR_RETURN(place.size, number_of(environment, "ARGOSY_TASKS", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.rank, number_of(environment, "JOB_COMPLETION_INDEX"));
  if (place.size == 1) return std::optional<JobPlace>(std::move(place));
  const std::string pod(text_of(environment, "HOSTNAME"));  // "<job>-<index>"
  const std::string tail = str_cat("-", place.rank);
  if (!pod.ends_with(tail) || !has(environment, "ARGOSY_SERVICE")) {
    if (has(environment, "ARGOSY_COORDINATOR")) return std::optional<JobPlace>(std::move(place));
    return invalid_argument("ARGOSY_TASKS=", place.size, ", but HOSTNAME=", pod,
                            " and ARGOSY_SERVICE=", text_of(environment, "ARGOSY_SERVICE"),
                            " do not say where task 0 is")
        .with_id("ARG-CLUSTER-032")
        .with_where("ARGOSY_SERVICE")
        .with_hint("the manifest of argosy launch --on kubernetes");
  }
  place.job = pod.substr(0, pod.size() - tail.size());
  const std::string service(text_of(environment, "ARGOSY_SERVICE"));
  if (pod.size() + service.size() > kLongestName) {
    return invalid_argument("HOSTNAME and ARGOSY_SERVICE together have ", pod.size() + service.size(),
                            " bytes, more than a name of a host")
        .with_id("ARG-CLUSTER-030")
        .with_where("ARGOSY_SERVICE")
        .with_hint("the manifest of argosy launch --on kubernetes");
  }
  for (int rank = 0; rank < place.size; ++rank) place.hosts.push_back(str_cat(place.job, "-", rank, ".", service));
  ARGOSY_ASSIGN_OR_RETURN(const int port, number_or(environment, "MASTER_PORT", kDefaultPort, 1, 65535));
  place.coordinators = {str_cat(place.hosts[0], ":", port)};
  return std::optional<JobPlace>(std::move(place));
}

}  // namespace argosy
