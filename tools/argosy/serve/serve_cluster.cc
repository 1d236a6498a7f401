#include "tools/argosy/serve/serve_cluster.h"

#include <cstdlib>

#include "argosy/cluster/network/host_port.h"
#include "argosy/rpc/gate/peer_filter.h"

namespace argosy::cli {

namespace {

Status usage(const auto&... what) { return invalid_argument(what...).with_id("ARG-USAGE"); }

std::string_view host_of(std::string_view address) { return address.substr(0, address.rfind(':')); }

Status not_there(const TaskName& task, const ClusterSpec& cluster) {
  return invalid_argument("the cluster has no task ", task, ": it has ", str_join(cluster.tasks()))
      .with_id("ARG-CLUSTER-015")
      .with_hint(str_cat("--job ", cluster.tasks()[0].job, " --task ", cluster.tasks()[0].task));
}

// Where to listen as this host of the cluster. Systems often give a host's own name a loopback address (127.0.1.1 in
// /etc/hosts), where no other host comes to: then at every address, as TensorFlow's servers do.
std::string listening_host(const std::string& own) {
  if (tf::is_loopback(own) || is_mapped_host(own)) return own;
  const auto addresses = resolve(own);
  return addresses.ok() && tf::is_loopback(addresses->front()) ? "0.0.0.0" : own;
}

// Networks of the flags and of ARGOSY_INSECURE_CLUSTER.
std::vector<std::string> networks_of(const ClusterFlags& flags) {
  std::vector<std::string> networks = flags.insecure;
  const char* const more = std::getenv("ARGOSY_INSECURE_CLUSTER");
  for (const std::string& network : str_split(more != nullptr ? more : "", ',')) {
    if (!network.empty()) networks.push_back(network);
  }
  return networks;
}

}  // namespace

void add_cluster_flags(Command& command, ClusterFlags& flags) {
  command.option("--cluster JSON", flags.cluster, "jobs, tasks and addresses, or @FILE; default $TF_CONFIG's")
      .option("--job J", flags.job, "the job of this task in the cluster")
      .option("--task N", flags.task, "its number in the job; default 0", {.least = 0, .most = 1e9})
      .option("--insecure-cluster NET", flags.insecure,
              "let tasks and clients of NET in without certificate; also $ARGOSY_INSECURE_CLUSTER");
}

Result<std::optional<tf::ClusterTask>> cluster_task(const ClusterFlags& flags) {
  tf::ClusterTask found;
  std::optional<TaskName> told;
  if (!flags.cluster.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(found.cluster, ClusterSpec::read(flags.cluster));
  } else if (const char* const config = std::getenv("TF_CONFIG"); config != nullptr && *config != '\0') {
    auto parsed = TfConfig::parse(config);
    if (!parsed.ok()) return std::move(parsed).status().with_where("TF_CONFIG");
    found.cluster = std::move(parsed->cluster);
    told = parsed->task;
  }
  if (found.cluster.jobs.empty()) {  // TF_CONFIG need not name one
    if (flags.job.empty() && flags.task < 0 && flags.insecure.empty()) return std::optional<tf::ClusterTask>();
    return usage("--job, --task and --insecure-cluster are of a cluster, which is not given")
        .with_hint(R"(--cluster '{"ps": ["a:2222"], "worker": ["b:2222"]}' --job worker --task 0)");
  }
  if (!flags.job.empty() || flags.task >= 0) {
    if (flags.job.empty())
      return usage("--task ", flags.task, " is of a job, which is not given").with_hint("--job worker");
    told = {flags.job, std::max(flags.task, 0)};
  }
  if (!told) {
    return usage("which task of the cluster this is, is not said: it has ", str_join(found.cluster.tasks()))
        .with_hint(str_cat("--job ", found.cluster.tasks()[0].job, " --task ", found.cluster.tasks()[0].task));
  }
  found.task = *told;
  if (found.cluster.address(found.task) == nullptr) return not_there(found.task, found.cluster);
  return std::optional(std::move(found));
}

Status listen_as(const tf::ClusterTask& task, int port, const std::string& host, const ClusterFlags& flags,
                 tf::SessionServerOptions& server) {
  const std::string& address = *task.cluster.address(task.task);
  const std::string own_host(host_of(address));
  const int own_port = std::stoi(address.substr(own_host.size() + 1));
  const bool everywhere = host == "0.0.0.0" || host == "::";
  const auto contradicts = [&](std::string_view flag, const auto& value) {
    return invalid_argument(flag, " ", value, " contradicts the cluster, where ", task.task, " is at ", address)
        .with_id("ARG-CLUSTER-016")
        .with_hint(str_cat("leave out ", flag));
  };
  if (port >= 0 && port != own_port) return contradicts("--port", port);
  if (!host.empty() && host != own_host && !everywhere) return contradicts("--host", host);
  server.cluster = task;
  server.host = host.empty() ? listening_host(own_host) : host;
  server.port = own_port;
  const std::vector<std::string> networks = networks_of(flags);
  server.insecure_clients.insert(server.insecure_clients.end(), networks.begin(), networks.end());
  const bool certificates = !server.tls_cert.empty() || !server.tls_key.empty() || !server.tls_ca.empty();
  if (tf::is_loopback(server.host) || certificates || !server.insecure_clients.empty()) return ok_status();
  return usage("whoever reaches ", everywhere ? host : own_host,
               " could run programs here: tasks and clients elsewhere need certificates")
      .with_hint(
          "--tls-cert FILE --tls-key FILE --tls-ca FILE; or --insecure-cluster 10.0.0.0/8 for a network that you "
          "trust");
}

}  // namespace argosy::cli
