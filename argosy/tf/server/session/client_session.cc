#include "argosy/tf/server/session/client_session.h"

#include "argosy/base/guard.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/server/session/device_check.h"
#include "argosy/tf/server/session/run_options.h"
#include "argosy/tf/server/session/session_resources.h"
#include "argosy/tf/server/session/step_response.h"

namespace argosy::tf {

namespace {

std::vector<std::string> strings(const auto& list) { return {list.begin(), list.end()}; }

// A task of TensorFlow runs TensorFlow's ops alone, and passes make some of our own.
bool optimizes(const ClientSessionOptions& options) {
  return options.config.optimize && (options.tasks == nullptr || !options.tasks->has_foreign_task());
}

std::vector<DeviceSpec> all_devices(const ClientSessionOptions& options) {
  std::vector<DeviceSpec> all = options.device_set->specs();
  if (options.tasks == nullptr) return all;
  for (DeviceSpec& spec : options.tasks->devices()) all.push_back(std::move(spec));
  return all;
}

std::unique_ptr<Session> make_session(const ClientSessionOptions& options, ImportedGraph& graph) {
  if (options.device_set->has_async_device()) graph.convert_resource_users();
  return std::make_unique<Session>(graph.graph(), SessionOptions{.device_set = options.device_set,
                                                                 .tasks = options.tasks,
                                                                 .allow_soft_placement = options.config.soft_placement,
                                                                 .log_device_placement = options.config.log_placement,
                                                                 .optimize = optimizes(options),
                                                                 .fetch_handles = true,
                                                                 .stuck_after = options.stuck_after});
}

std::unique_ptr<Replication> make_replication(const ClientSessionOptions& options, Session& session,
                                              ImportedGraph& graph) {
  if (options.replicas == nullptr) return nullptr;
  const ReplicationOptions how{.optimize = options.config.optimize,
                               .sync_batch_norm = options.sync_batch_norm,
                               .check = options.check,
                               .strategy = options.strategy.automatic ? StrategySpec{} : options.strategy,
                               .ask_cost_model = options.strategy.automatic && options.check == 0,
                               .most_gpus = options.most_gpus,
                               .tasks = options.tasks,
                               .planned = options.planned};
  return std::make_unique<Replication>(session, graph, options.device_set, how, *options.replicas);
}

Result<Tensor> read_feed(std::string_view name, const WireReader& message, const TensorWire& wire) {
  auto tensor = read_tensor(message, wire);
  if (!tensor.ok()) return std::move(tensor).status().with_where(str_cat("feed ", name));
  return tensor;
}

}  // namespace

ClientSession::ClientSession(Options options)
    : options_(std::move(options)),
      wire_(session_wire(*options_.device_set, options_.feed_limit, options_.lent_feeds)),
      session_(make_session(options_, graph_)),
      replication_(make_replication(options_, *session_, graph_)),
      runner_(options_, *session_, graph_, replication_.get()),
      partial_runs_(options_, *session_, graph_, replication_.get()) {}

ClientSession::~ClientSession() {
  contained("closing a session", [this] { (void)close(); });
}

Result<std::shared_ptr<ClientSession>> ClientSession::create(Options options, std::string_view graph_def) {
  ARGOSY_RETURN_IF_ERROR(argosy::tf::check_devices(graph_def, all_devices(options), options.config.soft_placement));
  std::shared_ptr<ClientSession> session(new ClientSession(std::move(options)));
  ARGOSY_RETURN_IF_ERROR(Status(session->session_->status()));
  ARGOSY_RETURN_IF_ERROR(session->check_replicas(graph_def));
  ARGOSY_RETURN_IF_ERROR(session->graph_.extend(graph_def));
  return session;
}

Status ClientSession::check_replicas(std::string_view graph_def) const {
  if (options_.replicas == nullptr || options_.tasks == nullptr) return ok_status();
  const ReplicaDevices gpus = replica_devices(*options_.device_set, options_.tasks.get(), options_.most_gpus);
  if (options_.most_gpus > 0 && gpus.size() < static_cast<std::size_t>(options_.most_gpus)) {
    return too_few_gpus(options_.most_gpus, gpus);
  }
  ARGOSY_RETURN_IF_ERROR(options_.strategy.check(static_cast<int>(gpus.size())));
  if (options_.config.asked_to_isolate) return ok_status();
  return check_own_state(graph_def, options_.task);
}

Result<std::int64_t> ClientSession::extend(std::string_view graph_def, std::int64_t current, CallContext& call) {
  const SessionLease::Use use(lease_);
  Deadline deadline(options_.deadlines);
  ARGOSY_RETURN_IF_ERROR(runner_.set_deadline({}, call.cancellation(), deadline));
  InterruptibleCalls::Call open(calls_, call.cancellation());
  ARGOSY_RETURN_IF_ERROR(open.enter());
  ARGOSY_RETURN_IF_ERROR(argosy::tf::check_devices(graph_def, all_devices(options_), options_.config.soft_placement));
  ARGOSY_RETURN_IF_ERROR(check_replicas(graph_def));
  std::int64_t version = 0;
  ARGOSY_RETURN_IF_ERROR(session_->mutate_graph([&]() -> Status {
    {
      MutexLock lock(mutex_);
      if (current != version_) {
        return aborted("Version mismatch: the session's graph has version ", version_, ", the request extends version ",
                       current);
      }
    }
    ARGOSY_RETURN_IF_ERROR(graph_.extend(graph_def));
    MutexLock lock(mutex_);
    version = ++version_;
    return ok_status();
  }));
  return version;
}

Status ClientSession::new_request(std::int64_t id, std::string_view method) {
  MutexLock lock(mutex_);
  if (recent_.add(id)) return ok_status();
  return aborted("The same ", method, " request was received twice. (request_id ", id, ")").with_id("ARG-RPC-001");
}

Result<std::shared_ptr<ResolvedStep>> ClientSession::resolved(const StepRequest& request, CallContext& call) {
  constexpr std::size_t kKeptKey = 64 << 10;  // with its thread, for the next request
  thread_local std::string of_thread;
  std::string key = std::exchange(of_thread, std::string());
  request.signature(key);
  {
    MutexLock lock(mutex_);
    if (const auto found = steps_.find(key); found != steps_.end()) {
      if (key.capacity() <= kKeptKey) of_thread = std::move(key);
      return found->second;
    }
  }
  call.expect_duration(-1);  // converting and compiling take a while
  InterruptibleCalls::Call open(calls_, call.cancellation());
  ARGOSY_RETURN_IF_ERROR(open.enter());
  StepNames names{.fetches = strings(request.fetches), .targets = strings(request.targets)};
  for (const StepRequest::Feed& feed : request.feeds) names.feeds.emplace_back(feed.name);
  ARGOSY_ASSIGN_OR_RETURN(auto step, ResolvedStep::make(*session_, graph_, std::move(names)));
  MutexLock lock(mutex_);
  return steps_.emplace(key, std::move(step)).first->second;
}

Result<std::vector<WirePiece>> ClientSession::run_step(const StepRequest& request, CallContext& call) {
  const SessionLease::Use use(lease_);
  ARGOSY_RETURN_IF_ERROR(new_request(request.request_id, "RunStep"));
  tensorflow::RunOptions options;
  ARGOSY_RETURN_IF_ERROR(read_options(request.options, options));
  Deadline deadline(options_.deadlines);
  ARGOSY_RETURN_IF_ERROR(runner_.set_deadline(options, call.cancellation(), deadline));
  if (!request.partial_run.empty()) {
    InterruptibleCalls::Call open(calls_, call.cancellation());
    ARGOSY_RETURN_IF_ERROR(open.enter());
    return partial_runs_.run(request, wire_, call);
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto step, resolved(request, call));
  std::vector<Tensor> feeds(request.feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(feeds[i], read_feed(request.feeds[i].name, request.feeds[i].tensor, wire_));
  }
  tensorflow::RunMetadata metadata;
  ARGOSY_ASSIGN_OR_RETURN(const auto fetched,
                          runner_.run(*step, std::move(feeds), options, call, deadline, request.errors_in_body,
                                      wants_metadata(options) ? &metadata : nullptr));
  WireWriter response;
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(add_fetch(step->names().fetches[i], fetched[i], wire_, response));
  }
  if (wants_metadata(options)) response.bytes_field(2, metadata.SerializeAsString());
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

Result<std::string> ClientSession::set_up_partial_run(const StepNames& names, std::int64_t request_id,
                                                      CallContext& call) {
  const SessionLease::Use use(lease_);
  ARGOSY_RETURN_IF_ERROR(new_request(request_id, "PartialRunSetup"));
  Deadline deadline(options_.deadlines);
  ARGOSY_RETURN_IF_ERROR(runner_.set_deadline({}, call.cancellation(), deadline));
  InterruptibleCalls::Call open(calls_, call.cancellation());
  ARGOSY_RETURN_IF_ERROR(open.enter());
  return partial_runs_.set_up(names);
}

Result<std::int64_t> ClientSession::make_callable(const tensorflow::CallableOptions& options, std::int64_t request_id,
                                                  CallContext& call) {
  const SessionLease::Use use(lease_);
  ARGOSY_RETURN_IF_ERROR(new_request(request_id, "MakeCallable"));
  Deadline deadline(options_.deadlines);
  ARGOSY_RETURN_IF_ERROR(runner_.set_deadline({}, call.cancellation(), deadline));
  InterruptibleCalls::Call open(calls_, call.cancellation());
  ARGOSY_RETURN_IF_ERROR(open.enter());
  return callables_.make(*session_, graph_, options);
}

Result<std::vector<WirePiece>> ClientSession::run_callable(const CallRequest& request, CallContext& call) {
  const SessionLease::Use use(lease_);
  ARGOSY_RETURN_IF_ERROR(new_request(request.request_id, "RunCallable"));
  ARGOSY_ASSIGN_OR_RETURN(const auto callable, callables_.find(request.callable));
  const std::vector<std::string>& names = callable->step->names().feeds;
  if (request.feeds.size() != names.size()) {
    return invalid_argument("Expected ", names.size(), " feeds, but got ", request.feeds.size());
  }
  Deadline deadline(options_.deadlines);
  ARGOSY_RETURN_IF_ERROR(runner_.set_deadline(callable->options, call.cancellation(), deadline));
  std::vector<Tensor> feeds(names.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(feeds[i], read_feed(names[i], request.feeds[i], wire_));
  }
  const bool metadata_wanted = wants_metadata(callable->options);
  tensorflow::RunMetadata metadata;
  ARGOSY_ASSIGN_OR_RETURN(const auto fetched,
                          runner_.run(*callable->step, std::move(feeds), callable->options, call, deadline,
                                      /*errors_in_body=*/false, metadata_wanted ? &metadata : nullptr));
  WireWriter response;
  for (const std::size_t i : callable->fetches) ARGOSY_RETURN_IF_ERROR(add_fetch(fetched[i], wire_, response));
  if (metadata_wanted) response.bytes_field(2, metadata.SerializeAsString());
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

void ClientSession::begin_close() {
  calls_.close();
  session_->begin_close();
  if (replication_ != nullptr) replication_->begin_close();
  partial_runs_.begin_close();
}

Status ClientSession::close() {
  begin_close();
  // Whatever is stuck, the others are closed.
  Status plain = session_->close();
  Status replicated = replication_ != nullptr ? replication_->close() : ok_status();
  Status partial = partial_runs_.close();
  ARGOSY_RETURN_IF_ERROR(std::move(plain));
  ARGOSY_RETURN_IF_ERROR(std::move(replicated));
  ARGOSY_RETURN_IF_ERROR(std::move(partial));
  callables_.clear();
  MutexLock lock(mutex_);
  steps_.clear();
  return ok_status();
}

}  // namespace argosy::tf
