// TF_CONFIG: TensorFlow's description of a cluster. The tasks that train together are its chief and its workers; the chief,
// else worker 0, is task 0.
#include <algorithm>

#include "argosy/cluster/cluster_spec.h"
#include "argosy/cluster/environment/variables.h"
#include "argosy/cluster/network/host_port.h"

namespace argosy {

namespace {

std::vector<TaskName> training_tasks(const ClusterSpec& cluster) {
  std::vector<TaskName> tasks;
  for (const char* job : {"chief", "master", "worker"}) {
    const auto at = cluster.jobs.find(job);
    if (at == cluster.jobs.end()) continue;
    for (const auto& [task, address] : at->second) tasks.push_back({.job = job, .task = task});
  }
  return tasks;
}

}  // namespace

FoundPlace place_of_tf_config(const EnvironmentMap& environment) {
  const std::string_view text = text_of(environment, "TF_CONFIG");
  if (text.empty()) return std::optional<JobPlace>();
  auto parsed = TfConfig::parse(text);
  if (!parsed.ok()) return std::move(parsed).status().with_where("TF_CONFIG");
  const std::vector<TaskName> tasks = training_tasks(parsed->cluster);
  const auto wrong = [](std::string_view why, const char* id, std::string_view hint) {
    return invalid_argument("TF_CONFIG: ", why).with_id(id).with_where("TF_CONFIG").with_hint(std::string(hint));
  };
  if (tasks.empty()) {
    if (parsed->cluster.jobs.empty()) return std::optional<JobPlace>();
    return wrong("the cluster has neither chief nor worker", "ARG-CLUSTER-032", "argosy serve runs parameter servers");
  }
  if (!parsed->task) {
    if (tasks.size() == 1) return std::optional<JobPlace>();
    return wrong(str_cat("the cluster has ", tasks.size(), " training tasks, but \"task\" does not say which this is"),
                 "ARG-CLUSTER-032", R"("task": {"type": "worker", "index": 0})");
  }
  const auto own = std::find(tasks.begin(), tasks.end(), *parsed->task);
  if (own == tasks.end()) {
    return wrong(str_cat("this is ", parsed->task->to_string(), ", which is no chief and no worker of the cluster"),
                 "ARG-CLUSTER-032", "argosy serve --job ps for parameter servers; an evaluator runs alone");
  }
  JobPlace place{.rank = static_cast<int>(own - tasks.begin()), .size = static_cast<int>(tasks.size())};
  place.source = "TF_CONFIG";
  bool loopback = false, beyond = false;
  for (const TaskName& task : tasks) {
    ARGOSY_ASSIGN_OR_RETURN(const HostPort address, HostPort::parse(*parsed->cluster.address(task)));
    const bool here = address.host == "localhost" || address.host == "127.0.0.1" || address.host == "::1";
    place.hosts.push_back(here ? "localhost" : address.host);
    (here ? loopback : beyond) = true;
  }
  if (loopback && beyond) {
    return wrong("some tasks are on localhost, others on hosts by name: localhost is another machine for each",
                 "ARG-CLUSTER-048", "the same name for a host everywhere");
  }
  const std::string& host = place.hosts[static_cast<std::size_t>(place.rank)];
  place.local_size = static_cast<int>(std::count(place.hosts.begin(), place.hosts.end(), host));
  place.local_rank = static_cast<int>(std::count(place.hosts.begin(), place.hosts.begin() + place.rank, host));
  if (place.size > 1) place.coordinators = {*parsed->cluster.address(tasks[0])};
  return std::optional<JobPlace>(std::move(place));
}

}  // namespace argosy
