#include "argosy/cluster/launch/launch_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "argosy/cluster/environment/variables.h"
#include "argosy/cluster/network/host_port.h"

namespace argosy {

namespace {

using Json = nlohmann::ordered_json;

bool means_here(const std::string& host) { return host == "localhost"; }

// Tasks without their variables: as many of each host as it has slots, or one.
std::vector<LaunchTask> deal(const LaunchRequest& request) {
  std::vector<LaunchTask> tasks;
  int left = request.processes;
  for (const HostSlots& host : request.hosts) {
    int slots = std::max(host.slots, 1);
    if (request.processes > 0) slots = std::min(slots, left);
    left -= slots;
    if (slots == 0) break;
    const int here = request.per_slot ? slots : 1;
    for (int local = 0; local < here; ++local) {
      tasks.push_back({.rank = request.first_rank + static_cast<int>(tasks.size()),
                       .local_rank = local,
                       .local_size = here,
                       .host = host.host,
                       .devices = !request.per_slot && (host.slots > 0 || request.processes > 0) ? slots : 0});
    }
  }
  return tasks;
}

// As TensorFlow's programs read it. Their ports follow the coordinator's.
std::string tf_config(const std::vector<LaunchTask>& tasks, const LaunchTask& own, int port) {
  Json workers = Json::array();
  for (const LaunchTask& task : tasks) {
    workers.push_back(HostPort{without_user(task.host), port + kPortsTried + task.local_rank}.to_string());
  }
  return Json{{"cluster", {{"worker", workers}}}, {"task", {{"type", "worker"}, {"index", own.rank}}}}.dump();
}

Status check_ports(const LaunchRequest& request, const LaunchPlan& plan) {
  int most = 0;  // tasks of a host
  for (const LaunchTask& task : plan.tasks) most = std::max(most, task.local_size);
  const int first = request.port + kPortsTried;
  if (!request.per_slot || plan.tasks.size() < 2 || first + most - 1 <= 65535) return ok_status();
  return invalid_argument("port ", request.port, " is too high: the tasks' own servers (TF_CONFIG) get those from ",
                          first, " to ", first + most - 1)
      .with_id("ARG-CLUSTER-050")
      .with_where("argosy launch")
      .with_hint(str_cat("--master-port ", 65535 - kPortsTried - most + 1, " or lower"));
}

void set_variables(const LaunchRequest& request, LaunchPlan& plan) {
  const int size = request.all_tasks > 0 ? request.all_tasks : static_cast<int>(plan.tasks.size());
  const bool whole = size == static_cast<int>(plan.tasks.size());  // all tasks are known here
  std::vector<std::string> hosts;
  for (const LaunchTask& task : plan.tasks) hosts.push_back(without_user(task.host));
  for (LaunchTask& task : plan.tasks) {
    EnvironmentMap& environment = task.environment;
    Json place = {{"rank", task.rank},
                  {"size", size},
                  {"local_rank", task.local_rank},
                  {"local_size", task.local_size},
                  {"coordinator", plan.coordinators},
                  {"job", request.job}};
    if (whole) place["hosts"] = hosts;
    environment["ARGOSY_CLUSTER"] = place.dump();
    if (means_here(task.host)) {
      environment.erase("ARGOSY_HOST_NAME");
    } else {
      environment["ARGOSY_HOST_NAME"] = without_user(task.host);
    }
    if (!request.per_slot) continue;
    const HostPort coordinator = *HostPort::parse(plan.coordinators[0]);
    environment["RANK"] = std::to_string(task.rank);
    environment["WORLD_SIZE"] = std::to_string(size);
    environment["LOCAL_RANK"] = std::to_string(task.local_rank);
    environment["LOCAL_WORLD_SIZE"] = std::to_string(task.local_size);
    environment["MASTER_ADDR"] = coordinator.host;
    environment["MASTER_PORT"] = std::to_string(coordinator.port);
    if (size > 1 && whole) environment["TF_CONFIG"] = tf_config(plan.tasks, task, coordinator.port);
  }
}

}  // namespace

Result<LaunchPlan> make_launch_plan(const LaunchRequest& request) {
  LaunchPlan plan{.tasks = deal(request)};
  int slots = 0;
  for (const HostSlots& host : request.hosts) slots += std::max(host.slots, 1);
  if (request.processes > slots) {
    return invalid_argument(request.processes, " processes, but the hosts have ", slots, " slots")
        .with_id("ARG-CLUSTER-050")
        .with_where("argosy launch")
        .with_hint("-H gpu-a:4,gpu-b:4");
  }
  const bool here =
      std::any_of(request.hosts.begin(), request.hosts.end(), [](const auto& h) { return means_here(h.host); });
  if (here && request.hosts.size() > 1) {
    return invalid_argument("localhost beside other hosts: for each of them it is another machine")
        .with_id("ARG-CLUSTER-048")
        .with_where("argosy launch")
        .with_hint("the name of this host, as the others know it");
  }
  std::string host = request.coordinator_host.empty() ? request.hosts[0].host : request.coordinator_host;
  if (means_here(host)) host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  plan.coordinators = eight_ports(without_user(host), request.port);
  if (auto first = HostPort::parse(plan.coordinators[0]); !first.ok()) {
    return std::move(first).status().with_where("argosy launch");
  }
  ARGOSY_RETURN_IF_ERROR(check_ports(request, plan));
  set_variables(request, plan);
  return plan;
}

bool is_launcher_variable(std::string_view name) {
  constexpr std::string_view kNames[] = {"RANK",         "WORLD_SIZE",     "LOCAL_RANK",         "LOCAL_WORLD_SIZE",
                                         "GROUP_RANK",   "MASTER_ADDR",    "MASTER_PORT",        "TF_CONFIG",
                                         "ARGOSY_TASKS", "ARGOSY_CLUSTER", "ARGOSY_COORDINATOR", "ARGOSY_HOST_NAME"};
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  return name.starts_with("OMPI_COMM_WORLD_") || name.starts_with("PMI_") || name.starts_with("PMIX_") ||
         name.starts_with("MPI_LOCAL") || name.starts_with("TORCHELASTIC_");
}

}  // namespace argosy
