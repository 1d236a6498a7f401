#include "argosy/tf/server/transport/session_server.h"

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/rpc/transport/grpc_transport.h"
#include "argosy/tf/server/callbacks/py_func_bridge.h"
#include "argosy/tf/server/replication/replica_devices.h"
#include "argosy/tf/server/transport/heap_upkeep.h"
#include "argosy/tf/server/transport/master_methods.h"
#include "argosy/tf/server/transport/status_page_server.h"
#include "argosy/tf/worker/peers/rpc_error.h"
#include "argosy/tf/worker/worker_service.h"

namespace argosy::tf {

namespace {

constexpr const char* kUsage = "ARG-USAGE";

std::int64_t host_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

Result<std::string> read_pem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) return not_found("cannot read the certificate or key ", path).with_where(path);
  return text.str();
}

// Requires certificates on both sides, or a loopback address, or a list of networks.
Result<GrpcTransportOptions> transport_options(const SessionServerOptions& o) {
  GrpcTransportOptions to{.host = o.host == "localhost" ? "127.0.0.1" : o.host, .port = o.port};
  ARGOSY_ASSIGN_OR_RETURN(PeerFilter networks, PeerFilter::parse(o.insecure_clients));  // wrong ones are told anywhere
  const int given = (o.tls_cert.empty() ? 0 : 1) + (o.tls_key.empty() ? 0 : 1) + (o.tls_ca.empty() ? 0 : 1);
  if (given != 0 && given != 3) {
    return invalid_argument("TLS needs a certificate, its key, and who signs the clients' certificates")
        .with_id(kUsage)
        .with_hint("--tls-cert FILE --tls-key FILE --tls-ca FILE");
  }
  if (given == 3) {
    ARGOSY_ASSIGN_OR_RETURN(to.cert_pem, read_pem(o.tls_cert));
    ARGOSY_ASSIGN_OR_RETURN(to.key_pem, read_pem(o.tls_key));
    ARGOSY_ASSIGN_OR_RETURN(to.client_ca_pem, read_pem(o.tls_ca));
  } else if (!is_loopback(o.host)) {
    if (o.insecure_clients.empty()) {
      return invalid_argument("whoever reaches ", o.host,
                              " could run programs here: clients elsewhere need certificates")
          .with_id(kUsage)
          .with_hint(
              "--tls-cert FILE --tls-key FILE --tls-ca FILE; or --insecure-tf-clients 10.0.0.0/8 for stock TensorFlow "
              "clients of a network you trust");
    }
    to.rules.filter = true;
    to.rules.networks = std::move(networks);
  }
  // A certificate says more than a user's number.
  to.rules.own_user_only = !o.any_local_user && given == 0;
  to.rules.certificates = given == 3;
  to.unfinished_of_peer = o.unfinished_limit_bytes > 0 ? o.unfinished_limit_bytes : host_memory() / 4;
  to.rules.most = o.max_connections;
  to.rules.most_of_peer = o.max_connections_per_peer;
  return to;
}

// Pages have no certificates: without a list of networks they are for this machine only.
Result<GateRules> page_rules(const SessionServerOptions& o) {
  GateRules rules{.filter = true, .own_user_only = !o.any_local_user, .most = 256};
  std::vector<std::string> networks = o.http_clients;
  networks.insert(networks.end(), o.insecure_clients.begin(), o.insecure_clients.end());
  ARGOSY_ASSIGN_OR_RETURN(rules.networks, PeerFilter::parse(networks));
  return rules;
}

std::chrono::seconds client_lease(const SessionServerOptions& o) {
  if (o.client_lease.count() >= 0) return o.client_lease;
  return is_loopback(o.host) ? std::chrono::seconds(60) : std::chrono::seconds(3600);
}

// While a server stops: closes its sessions a second before the grace is over. So the clients of steps that go on get the
// error of a closed session; gRPC would end their calls with a sentence of its own. Without a thread gRPC does.
class SessionsEnd {
 public:
  SessionsEnd(SessionService& service, std::chrono::milliseconds grace) {
    if (grace.count() == 0) return;
    const auto at = std::chrono::steady_clock::now() + grace - std::min(std::chrono::milliseconds(1000), grace / 2);
    contained("stopping a server", [&] { thread_ = std::thread([this, &service, at] { wait(service, at); }); });
  }
  ~SessionsEnd() {
    {
      MutexLock lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  SessionsEnd(const SessionsEnd&) = delete;
  SessionsEnd& operator=(const SessionsEnd&) = delete;

 private:
  void wait(SessionService& service, std::chrono::steady_clock::time_point at) ARGOSY_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      while (!over_ && changed_.wait_until(mutex_, at)) {
      }
      if (over_) return;
    }
    contained("closing sessions", [&] { service.close_all(); });
  }

  Mutex mutex_;
  CondVar changed_;
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

std::string connection_metrics(const AcceptGate::Counts& now) {
  std::string text = str_cat(
      "# HELP argosy_connections Connections open now.\n# TYPE argosy_connections gauge\nargosy_connections ", now.open,
      "\n# HELP argosy_connections_total Connections by what became of them.\n"
      "# TYPE argosy_connections_total counter\n");
  const std::pair<const char*, std::int64_t> fates[] = {{"let_in", now.let_in},
                                                        {"shut_out", now.shut_out},
                                                        {"over_limit", now.over_limit},
                                                        {"no_descriptor", now.no_descriptor},
                                                        {"cut_or_waiting", now.punished}};
  for (const auto& [fate, count] : fates) {
    text += str_cat("argosy_connections_total{fate=\"", fate, "\"} ", count, "\n");
  }
  return text;
}

std::string metrics_page(SessionService& service, int threads, const AcceptGate::Counts& connections) {
  std::string text = service.metrics().to_prometheus();
  text += connection_metrics(connections);
  text +=
      str_cat("# HELP argosy_sessions Sessions open now.\n# TYPE argosy_sessions gauge\nargosy_sessions ",
              service.sessions().size(),
              "\n# HELP argosy_threads Threads serving calls.\n# TYPE argosy_threads gauge\nargosy_threads ", threads,
              "\n# HELP argosy_device_bytes Memory of a device in use.\n# TYPE argosy_device_bytes gauge\n");
  DeviceSet& device_set = service.device_set();
  for (int d = 0; d < device_set.size(); ++d) {
    text += str_cat("argosy_device_bytes{device=\"", device_set.device(d).spec().name.short_string(), "\"} ",
                    device_set.device(d).allocator().stats().in_use_bytes, "\n");
  }
  text += service.stuck().metrics_section();
  if (service.replicates()) text += metrics_section(service.replicas());
  return text;
}

std::string status_page(SessionService& service, const std::string& address, std::int64_t start, int threads) {
  std::string text =
      str_cat("argosy session server at ", address, "\nup ", static_cast<std::int64_t>(seconds_since(start)), " s, ",
              threads, " threads serve calls\n\ndevices\n");
  DeviceSet& device_set = service.device_set();
  for (int d = 0; d < device_set.size(); ++d) {
    const DeviceSpec& spec = device_set.device(d).spec();
    const MemoryStats memory = device_set.device(d).allocator().stats();
    text += str_cat("  ", spec.name.short_string(), "  ", spec.description, "  ", format_bytes(memory.in_use_bytes),
                    " in use, peak ", format_bytes(memory.peak_bytes), "\n");
  }
  text += "\ncalls\n";
  for (int m = 0; m < kNumMethods; ++m) {
    text += str_cat("  ", method_name(static_cast<Method>(m)), "  ", service.metrics().calls(m), "\n");
  }
  text += service.stuck().status_section();
  if (service.replicates()) text += status_section(service.replicas());
  const auto sessions = service.sessions();
  text += str_cat("\n", sessions.size(), " sessions\n");
  for (const auto& s : sessions) {
    text +=
        str_cat("  ", s.handle.substr(0, 4), "…  ",
                s.running_calls > 0 ? str_cat("at work on ", s.running_calls, s.running_calls == 1 ? " call" : " calls")
                                    : str_cat("idle ", static_cast<std::int64_t>(s.idle_seconds), " s"),
                "\n");
  }
  return text;
}

// The devices are as many as steps are replicated over. Those of a cluster's other tasks are known to sessions alone.
Status check_gpus(const SessionServerOptions& o, const DeviceSet& devices) {
  if (!o.replicate || o.cluster) return ok_status();
  const ReplicaDevices gpus = replica_devices(devices, nullptr, o.most_gpus);
  if (o.most_gpus > 0 && gpus.size() < static_cast<std::size_t>(o.most_gpus)) return too_few_gpus(o.most_gpus, gpus);
  return o.strategy.check(static_cast<int>(gpus.size()));
}

// By which programs of the host and others reach it. A task that listens at every address has a name in its cluster.
std::string told_host(const SessionServerOptions& o) {
  if (!o.cluster || (o.host != "0.0.0.0" && o.host != "::")) return o.host;
  const std::string* const address = o.cluster->cluster.address(o.cluster->task);
  return address != nullptr ? address->substr(0, address->rfind(':')) : o.host;
}

}  // namespace

class SessionServer::Impl {
 public:
  Status start(const SessionServerOptions& o) {
    ARGOSY_ASSIGN_OR_RETURN(GrpcTransportOptions transport, transport_options(o));
    if (transport.rules.filter) {
      ARGOSY_LOG(kWarning, "clients of ", str_join(o.insecure_clients), " are let in at ", o.host,
                 " without certificate: they can run what this user can");
    }
    DeviceRequest devices = o.devices;
    if (o.cluster) devices.task = {o.cluster->task.job, 0, o.cluster->task.task, "", std::nullopt};
    ARGOSY_ASSIGN_OR_RETURN(auto device_set, DeviceSet::make(devices));
    ARGOSY_RETURN_IF_ERROR(check_gpus(o, *device_set));
    if (!o.allow_files.empty() || !is_loopback(o.host)) {
      ARGOSY_ASSIGN_OR_RETURN(FilePolicy files, FilePolicy::within(o.allow_files));
      device_set->set_files(std::move(files));
    }
    if (!o.program_folder.empty()) {
      device_set->set_host_callbacks(std::make_shared<PyFuncBridge>(o.program_folder));
      lent_feeds_ = LentFeeds::of_folder(o.program_folder);
    }
    if (o.cluster) {
      worker_ = std::make_unique<WorkerService>(
          WorkerServiceOptions{.device_set = device_set,
                               .peers = std::make_shared<Peers>(
                                   o.cluster->cluster, o.cluster->task,
                                   PeerCredentials{transport.cert_pem, transport.key_pem, transport.client_ca_pem})});
    }
    const std::string task = o.cluster ? o.cluster->task.to_string() : "/job:localhost/replica:0/task:0";
    service_ = std::make_unique<SessionService>(SessionService::Options{.device_set = std::move(device_set),
                                                                        .task = task,
                                                                        .worker = worker_.get(),
                                                                        .feed_limit_bytes = o.feed_limit_bytes,
                                                                        .lent_feeds = lent_feeds_,
                                                                        .max_sessions = o.max_sessions,
                                                                        .lease = o.session_lease,
                                                                        .client_lease = client_lease(o),
                                                                        .stuck_after = o.stuck_after,
                                                                        .count_work = o.count_work,
                                                                        .replicate = o.replicate,
                                                                        .most_gpus = o.most_gpus,
                                                                        .sync_batch_norm = o.sync_batch_norm,
                                                                        .check = o.check,
                                                                        .strategy = o.strategy,
                                                                        .planned = o.planned});
    transport.error_text = [task](const Status& status) { return client_message(status, task); };
    transport.on_response = [this](std::size_t bytes) { service_->metrics().count_response(bytes); };
    std::vector<RpcMethod> methods = master_methods(*service_);
    if (worker_ != nullptr) {
      for (RpcMethod& method : worker_->methods()) methods.push_back(std::move(method));
    }
    ARGOSY_ASSIGN_OR_RETURN(transport_, GrpcTransport::start(std::move(methods), transport));
    address_ = str_cat(told_host(o), ":", transport_->port());
    if (o.http_port >= 0) {
      const std::int64_t begin = now_nanos();
      ARGOSY_ASSIGN_OR_RETURN(const GateRules rules, page_rules(o));
      ARGOSY_ASSIGN_OR_RETURN(
          http_, StatusPageServer::start(
                     transport.host, o.http_port, rules,
                     [this] { return metrics_page(*service_, transport_->threads(), transport_->connections()); },
                     [this, begin] { return status_page(*service_, address_, begin, transport_->threads()); }));
    }
    janitor_ = std::thread([this] { tidy(); });
    return ok_status();
  }

  void stop(std::chrono::milliseconds grace) {
    if (service_ == nullptr || stopped_.exchange(true)) return;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (janitor_.joinable()) janitor_.join();
    http_.reset();
    {
      const SessionsEnd end(*service_, grace);
      if (transport_ != nullptr) transport_->stop(grace);
    }
    service_->close_all();
    if (worker_ != nullptr) worker_->stop();
  }

  int port() const { return transport_->port(); }
  int http_port() const { return http_ != nullptr ? http_->port() : -1; }
  const std::string& address() const { return address_; }
  SessionService& service() const { return *service_; }

 private:
  // Closes sessions whose lease is over, and gives memory back: answers that were not read yet, free pages of the heap.
  void tidy() {
    constexpr auto kBetweenLooks = std::chrono::milliseconds(1000 / HeapUpkeep::kLooksASecond);
    MutexLock lock(mutex_);
    for (HeapUpkeep upkeep; !stopping_;) {
      (void)changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kBetweenLooks);
      if (stopping_) return;
      contained("closing forgotten sessions", [this] { (void)service_->close_expired(); });
      if (lent_feeds_ != nullptr) contained("unmapping closed feeds", [this] { lent_feeds_->sweep(); });
      const HeapUpkeep::Work work = upkeep.look(service_->any_session());
      if (work == HeapUpkeep::Work::kNone) continue;
      if (work == HeapUpkeep::Work::kTrimIfUnused && unused_heap_bytes() < HeapUpkeep::kUnusedBytes) continue;
      service_->give_memory_back();
      malloc_trim(0);
    }
  }

  std::shared_ptr<LentFeeds> lent_feeds_;  // null: clients send every feed
  std::unique_ptr<WorkerService> worker_;  // null: a server alone
  std::unique_ptr<SessionService> service_;
  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<StatusPageServer> http_;
  std::string address_;
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread janitor_;
};

SessionServer::SessionServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SessionServer::~SessionServer() { stop(); }

Result<std::unique_ptr<SessionServer>> SessionServer::start(const SessionServerOptions& options) {
  if (options.sync_batch_norm && !options.replicate) {
    return invalid_argument("--sync-batch-norm is of replicated steps")
        .with_id(kUsage)
        .with_hint("--replicate --sync-batch-norm");
  }
  if (options.check > 0 && !options.replicate) {
    return invalid_argument("--check is of replicated steps").with_id(kUsage).with_hint("--replicate --check");
  }
  if (!options.replicate && !(options.strategy == StrategySpec{})) {
    return invalid_argument("--strategy is of replicated steps")
        .with_id(kUsage)
        .with_hint(str_cat("--replicate --strategy ", options.strategy.to_string()));
  }
  if (!options.strategy.file.empty()) {
    return invalid_argument("a strategy file is read by argosy run and argosy serve, not by the server")
        .with_id(kUsage)
        .with_hint("--replicate --strategy dp,zero=1");
  }
  if (options.strategy.zero > 0 && options.check > 0) {
    return invalid_argument("--check compares variables that zero=1 keeps in shards")
        .with_id(kUsage)
        .with_hint("--strategy dp --check, whose steps have the same bits");
  }
  auto impl = std::make_unique<Impl>();
  Status status = guarded([&] { return impl->start(options); });
  if (!status.ok()) {
    impl->stop({});
    return status;
  }
  return std::unique_ptr<SessionServer>(new SessionServer(std::move(impl)));
}

int SessionServer::port() const { return impl_->port(); }
int SessionServer::http_port() const { return impl_->http_port(); }
const std::string& SessionServer::address() const { return impl_->address(); }
std::vector<DeviceSpec> SessionServer::devices() const { return impl_->service().device_set().specs(); }
int SessionServer::num_sessions() const { return static_cast<int>(impl_->service().sessions().size()); }

int SessionServer::num_running_calls() const {
  int calls = 0;
  for (const SessionInfo& session : impl_->service().sessions()) calls += session.running_calls;
  return calls;
}
WorkTotals SessionServer::work() const { return impl_->service().work(); }
void SessionServer::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }

}  // namespace argosy::tf
