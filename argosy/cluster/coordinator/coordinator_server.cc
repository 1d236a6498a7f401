#include "argosy/cluster/coordinator/coordinator_server.h"

#include "argosy/cluster/coordinator/coordinator_methods.h"
#include "argosy/cluster/network/host_port.h"
#include "argosy/cluster/network/own_interface.h"

namespace argosy {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kLastWords{500};  // for the answers that tell the cause
constexpr std::int64_t kUnfinishedBytes = 64 << 20;

// An address of this host that `host` stands for. Loopback needs no network and no token.
Result<std::string> own_address(const std::string& host, const CoordinatorServerOptions& options) {
  // A job without a token is of one host.
  auto found = addresses_to_try(host, options.token.none() ? std::vector<std::string>() : options.insecure_networks);
  if (!found.ok()) return std::move(found).status();
  for (const std::string& address : *found) {
    if (!is_own_address(address)) continue;
    if (tf::is_loopback(address)) return address;
    if (options.insecure_networks.empty()) {
      return permission_denied("task 0 would listen at ", address,
                               ", which other hosts can reach, without certificates")
          .with_id("ARG-CLUSTER-042")
          .with_where(str_cat("host ", host))
          .with_hint("--insecure-cluster 10.0.0.0/8: a network that you trust, on every task");
    }
    if (options.token.none()) {
      return permission_denied("a job beyond one host needs a token: any process of ",
                               str_join(options.insecure_networks), " could join it")
          .with_id("ARG-CLUSTER-043")
          .with_where("ARGOSY_JOB_TOKEN")
          .with_hint("export ARGOSY_JOB_TOKEN=$(openssl rand -hex 32), the same on every host");
    }
    return address;
  }
  return failed_precondition("task 0 is to listen at ", host, " (", str_join(*found),
                             "), which is no address of this host")
      .with_id("ARG-CLUSTER-041")
      .with_where(str_cat("host ", host))
      .with_hint("rank 0 on that host, or the address of this one");
}

}  // namespace

Result<std::unique_ptr<CoordinatorServer>> CoordinatorServer::start(CoordinatorServerOptions options) {
  std::unique_ptr<CoordinatorServer> server(new CoordinatorServer());
  server->coordinator_ = std::make_shared<Coordinator>(options.job, system_clock());
  ARGOSY_ASSIGN_OR_RETURN(const tf::PeerFilter networks, tf::PeerFilter::parse(options.insecure_networks));
  Status last = invalid_argument("no address to listen at").with_id("ARG-CLUSTER-032");
  for (const std::string& text : options.addresses) {
    ARGOSY_ASSIGN_OR_RETURN(const HostPort wanted, HostPort::parse(text));
    auto address = own_address(wanted.host, options);
    if (!address.ok()) return std::move(address).status();
    auto transport = tf::GrpcTransport::start(
        coordinator_methods(server->coordinator_, options.token),
        {.host = *address,
         .port = wanted.port,
         .rules = {.filter = true, .networks = networks, .own_user_only = true, .most_of_peer = 4096},
         .unfinished_of_peer = kUnfinishedBytes});
    if (!transport.ok()) {
      last = already_exists(transport.status().message())
                 .with_id("ARG-CLUSTER-041")
                 .with_where(str_cat("coordinator ", wanted.to_string()))
                 .with_hint("another port: MASTER_PORT, or launch --port; ss -ltnp shows who has this one");
      continue;
    }
    server->transport_ = *std::move(transport);
    server->address_ = HostPort{*address, server->transport_->port()}.to_string();
    server->file_ = std::make_unique<JobFile>(server->transport_->port(), options.token);
    CoordinatorServer* const self = server.get();
    server->ticks_ = std::thread([self] {
      while (!self->stopping_) {
        self->coordinator_->tick();
        std::this_thread::sleep_for(kTick);
      }
    });
    return server;
  }
  return last;
}

CoordinatorServer::~CoordinatorServer() {
  if (transport_ == nullptr) return;
  if (!coordinator_->cause().ok()) coordinator_->wait_until_alone(kLastWords);
  // Calls that still wait end with a word of their own, not with a closed connection.
  coordinator_->fail_job(CauseKind::kOwn,
                         unavailable("task 0 has left the job").with_id("ARG-CLUSTER-044").with_where("task 0"));
  transport_->stop(kLastWords);
  stopping_ = true;
  if (ticks_.joinable()) ticks_.join();
}

}  // namespace argosy
