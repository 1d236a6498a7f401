#include "argosy/cluster/join_job.h"

#include <cstdlib>

#include "argosy/base/guard.h"
#include "argosy/cluster/environment/launcher_exchange.h"
#include "argosy/cluster/incarnation.h"
#include "argosy/cluster/job_member.h"
#include "argosy/cluster/network/own_interface.h"
#include "argosy/cluster/single_task.h"

namespace argosy {

namespace {

constexpr std::chrono::milliseconds kStartTimeout{300'000};

// The launcher's exchange tells where task 0 listens, and the token: "host:port/token".
Status exchange_address(const JobPlace& place, const std::string& own, JoinPlan& plan) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string shared,
                          share_from_task_0(place, str_cat(own, "/", plan.token.to_hexadecimal())));
  const std::size_t slash = shared.rfind('/');
  if (slash == std::string::npos) {
    return unavailable("the launcher's exchange told no address: \"", shared.substr(0, 80), "\"")
        .with_id("ARG-CLUSTER-049")
        .with_where(place.source);
  }
  plan.addresses = {shared.substr(0, slash)};
  ARGOSY_ASSIGN_OR_RETURN(plan.token, JobToken::parse(shared.substr(slash + 1)));
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<JobTasks>> join_job(JoinOptions options) {
  const JobPlace& place = options.place;
  if (place.size == 1) return std::unique_ptr<JobTasks>(std::make_unique<SingleTask>(options.devices));
  if (place.rank < 0 || place.rank >= place.size) {
    return invalid_argument("rank ", place.rank, " of ", place.size, " tasks")
        .with_id("ARG-CLUSTER-032")
        .with_where(place.source);
  }
  ARGOSY_ASSIGN_OR_RETURN(JobToken token, JobToken::parse(place.token));
  const bool exchange = place.exchange != JobPlace::Exchange::kNone;
  if (exchange && token.none()) token = JobToken::draw();
  // gRPC's own log says the same as our errors, in other words.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  std::vector<std::string> networks = options.insecure_networks;
  networks.insert(networks.end(), place.insecure_networks.begin(), place.insecure_networks.end());
  JoinPlan plan{.addresses = place.coordinators,
                .networks = networks,
                .token = token,
                .call = {.job = place.job,
                         .version = options.version,
                         .size = place.size,
                         .task = {.rank = place.rank,
                                  .host = host_name(),
                                  .address = {},
                                  .incarnation = own_incarnation(),
                                  .devices = options.devices},
                         .program = options.program},
                .start_timeout = options.start_timeout.value_or(place.start_timeout.value_or(kStartTimeout)),
                .note = options.note};
  std::unique_ptr<CoordinatorServer> server;
  if (place.rank == 0) {
    if (exchange) {
      std::string host = "127.0.0.1";
      if (place.local_size < place.size) {
        ARGOSY_ASSIGN_OR_RETURN(host, own_address_in(networks));
      }
      plan.addresses = {str_cat(host.find(':') == std::string::npos ? host : str_cat("[", host, "]"), ":0")};
    }
    ARGOSY_ASSIGN_OR_RETURN(server, CoordinatorServer::start({.addresses = plan.addresses,
                                                              .insecure_networks = networks,
                                                              .token = token,
                                                              .job = {.own = plan.call,
                                                                      .hosts = place.hosts,
                                                                      .heartbeat = options.heartbeat,
                                                                      .stuck_after = options.stuck_after}}));
    plan.addresses = {server->address()};
    plan.server = server.get();
  }
  if (exchange) ARGOSY_RETURN_IF_ERROR(exchange_address(place, server != nullptr ? server->address() : "", plan));
  ARGOSY_ASSIGN_OR_RETURN(JoinedJob job, wait_for_job(plan));
  return guarded([&]() -> Result<std::unique_ptr<JobTasks>> {
    return std::unique_ptr<JobTasks>(
        std::make_unique<JobMember>(std::move(job), place.rank, options.heartbeat, std::move(server)));
  });
}

}  // namespace argosy
