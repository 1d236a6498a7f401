#include "argosy/tf/server/service/client_session.h"

#include <algorithm>
#include <optional>

#include "argosy/base/clock.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/master.pb.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/server/service/device_check.h"
#include "argosy/tf/server/service/partial_run.h"
#include "argosy/tf/server/service/rpc_error.h"
#include "argosy/tf/server/service/run_options.h"
#include "argosy/tf/server/service/step_metadata.h"

namespace argosy::tf {

// Counts calls under way, for leases.
class ClientSession::Busy {
 public:
  explicit Busy(ClientSession& session) : session_(session) { session_.busy_.fetch_add(1, std::memory_order_relaxed); }
  ~Busy() {
    session_.last_end_.store(now_nanos(), std::memory_order_relaxed);
    session_.busy_.fetch_sub(1, std::memory_order_relaxed);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ClientSession& session_;
};

// A step whose kernel does not end: its client is told so, and everybody who looks at the server.
class ClientSession::StuckCall final : public StuckObserver {
 public:
  StuckCall(StuckSteps* all, CallContext& call, bool errors_in_body)
      : all_(all), call_(call), errors_in_body_(errors_in_body) {}
  void stuck(const StuckStep& step) override {
    if (all_ != nullptr) all_->add(this, step);
    if (errors_in_body_) {
      call_.give_up(error_response(step.status));
    } else {
      call_.give_up(step.status);
    }
  }
  void ended(const StuckStep&) override {
    if (all_ != nullptr) all_->remove(this);
  }

 private:
  StuckSteps* const all_;
  CallContext& call_;
  const bool errors_in_body_;
};

// What MakeCallable made: a step, and the options of every run of it.
struct ClientSession::MadeCallable {
  std::shared_ptr<ResolvedStep> step;
  std::vector<std::size_t> fetches;  // per fetch asked for, which of the step's: a name may be asked for twice
  tensorflow::RunOptions options;
};

namespace {

Result<ResourceHandle> find_resource(DeviceSet& device_set, std::string_view device, const std::string& container,
                                     const std::string& name) {
  for (int d = 0; d < device_set.size(); ++d) {
    if (!device.empty() && device_set.device(d).spec().name.to_string() != device) continue;
    auto found = device_set.resources(d).find<Resource>(container, name);
    if (found.ok()) return ResourceHandle(container, name, *std::move(found));
  }
  return not_found("there is no resource \"", name, "\" in container \"", container, "\" on ",
                   device.empty() ? "any device" : device);
}

std::string device_of(DeviceSet& device_set, const ResourceHandle& handle) {
  for (int d = 0; d < device_set.size(); ++d) {
    const auto found = device_set.resources(d).find<Resource>(handle.container(), handle.name());
    if (found.ok() && *found == handle.resource()) return device_set.device(d).spec().name.to_string();
  }
  return "";
}

std::vector<std::string> strings(const auto& list) { return {list.begin(), list.end()}; }

}  // namespace

ClientSession::ClientSession(Options options) : options_(std::move(options)), last_end_(now_nanos()) {
  wire_.limit_bytes = options_.feed_limit;
  wire_.memory = &options_.device_set->device(0).allocator();  // keeps what it gave for the next feed
  DeviceSet* const device_set = options_.device_set.get();
  wire_.find_resource = [device_set](std::string_view device, const std::string& container, const std::string& name) {
    return find_resource(*device_set, device, container, name);
  };
  wire_.device_of = [device_set](const ResourceHandle& handle) { return device_of(*device_set, handle); };
  session_ =
      std::make_unique<Session>(graph_.graph(), SessionOptions{.device_set = options_.device_set,
                                                               .allow_soft_placement = options_.config.soft_placement,
                                                               .log_device_placement = options_.config.log_placement,
                                                               .optimize = options_.config.optimize,
                                                               .fetch_handles = true,
                                                               .stuck_after = options_.stuck_after});
  if (options_.replicas != nullptr) {
    const ReplicationOptions how{
        .optimize = options_.config.optimize, .sync_batch_norm = options_.sync_batch_norm, .check = options_.check};
    replication_ = std::make_unique<Replication>(*session_, graph_, options_.device_set, how, *options_.replicas);
  }
}

ClientSession::~ClientSession() { (void)close(); }

Result<std::shared_ptr<ClientSession>> ClientSession::create(Options options, std::string_view graph_def) {
  ARGOSY_RETURN_IF_ERROR(
      argosy::tf::check_devices(graph_def, options.device_set->specs(), options.config.soft_placement));
  std::shared_ptr<ClientSession> session(new ClientSession(std::move(options)));
  ARGOSY_RETURN_IF_ERROR(Status(session->session_->status()));
  ARGOSY_RETURN_IF_ERROR(session->graph_.extend(graph_def));
  return session;
}

Result<std::int64_t> ClientSession::extend(std::string_view graph_def, std::int64_t current) {
  const Busy busy(*this);
  ARGOSY_RETURN_IF_ERROR(
      argosy::tf::check_devices(graph_def, options_.device_set->specs(), options_.config.soft_placement));
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

Result<std::shared_ptr<ResolvedStep>> ClientSession::prepared(const StepRequest& request, CallContext& call) {
  thread_local std::string key;
  request.signature(key);
  {
    MutexLock lock(mutex_);
    const auto found = steps_.find(key);
    if (found != steps_.end()) return found->second;
  }
  call.expect_duration(-1);  // converting and compiling take a while
  StepNames names{.fetches = strings(request.fetches), .targets = strings(request.targets)};
  for (const StepRequest::Feed& feed : request.feeds) names.feeds.emplace_back(feed.name);
  ARGOSY_ASSIGN_OR_RETURN(auto step, ResolvedStep::make(*session_, graph_, std::move(names)));
  MutexLock lock(mutex_);
  return steps_.emplace(key, std::move(step)).first->second;
}

Result<std::vector<Tensor>> ClientSession::run(ResolvedStep& step, std::vector<Tensor> feeds,
                                               const tensorflow::RunOptions& options, CallContext& call,
                                               bool errors_in_body, tensorflow::RunMetadata* metadata) {
  const std::int64_t timeout = options.timeout_in_ms() > 0 ? options.timeout_in_ms() : options_.config.timeout.count();
  Cancellation& cancellation = call.cancellation();
  Deadline deadline(options_.deadlines);
  if (timeout > 0 && options_.deadlines != nullptr) {
    // Longer than a year is for ever, and would overflow the clock.
    const auto wait = std::chrono::milliseconds(std::min<std::int64_t>(timeout, std::int64_t{366} * 24 * 3600 * 1000));
    ARGOSY_RETURN_IF_ERROR(deadline.set(std::chrono::steady_clock::now() + wait, cancellation,
                                        str_cat("Operation timed out: the step took longer than ", timeout, " ms")));
  }
  StepStats stats;
  const bool trace = metadata != nullptr && options.trace_level() == tensorflow::RunOptions::FULL_TRACE;
  stats.keep_ops = trace;
  WorkCounter* const work = options_.work;
  std::vector<Tensor> fetched(step.num_fetches());
  call.expect_duration(timeout > 0 ? -1 : step.typical_nanos());
  const std::int64_t start = now_nanos();
  if (work != nullptr) work->step_begins();
  StuckCall stuck(options_.stuck, call, errors_in_body);
  const RunOptions run_options{
      .cancellation = &cancellation, .stats = trace || work != nullptr ? &stats : nullptr, .stuck = &stuck};
  Status status = replication_ != nullptr ? replication_->run(step, feeds, fetched, run_options)
                                          : step.callable().run(feeds, fetched, run_options);
  if (work != nullptr) work->step_ends(status.ok(), stats, *options_.device_set);
  step.ran(now_nanos() - start);
  deadline.end();
  // Who gave the step up says why; no node of it is to blame.
  if (!status.ok() && cancellation.cancelled()) return cancellation.status();
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  if (metadata != nullptr) ARGOSY_RETURN_IF_ERROR(fill_metadata(step, options, stats, feeds, *metadata));
  return fetched;
}

Status ClientSession::fill_metadata(const ResolvedStep& step, const tensorflow::RunOptions& options,
                                    const StepStats& stats, const std::vector<Tensor>& feeds,
                                    tensorflow::RunMetadata& to) {
  PlacementReport placement;
  if (options.output_partition_graphs()) {
    if (!options_.config.partition_graphs) {
      return invalid_argument(
          "RunOptions.output_partition_graphs is set, ConfigProto.experimental.disable_output_partition_graphs as "
          "well");
    }
    std::vector<std::pair<Value, Shape>> shapes;
    for (std::size_t i = 0; i < feeds.size(); ++i) shapes.emplace_back(step.values().feeds[i], feeds[i].shape());
    ARGOSY_ASSIGN_OR_RETURN(placement, session_->placement(shapes, step.values().fetches, step.values().targets));
  }
  return session_->mutate_graph([&] {
    if (options.trace_level() == tensorflow::RunOptions::FULL_TRACE) add_step_stats(stats, graph_.graph(), to);
    add_partition_graphs(placement, graph_.graph(), to);
    return ok_status();
  });
}

std::vector<WirePiece> error_response(const Status& error) {
  WireWriter response;
  response.varint_field(3, static_cast<std::uint64_t>(error.code()));
  response.bytes_field(4, client_message(error));
  return response.take();
}

namespace {

// What the next fields need: one entry of a response.
Status add_fetch(std::string_view name, const Tensor& value, const TensorWire& wire, WireWriter& to) {
  ARGOSY_ASSIGN_OR_RETURN(const TensorMessage tensor, TensorMessage::make(value, wire));
  to.begin_bytes(1, WireWriter::field_size(1, name.size()) + WireWriter::field_size(2, tensor.size()));
  to.bytes_field(1, name);
  to.begin_bytes(2, tensor.size());
  tensor.append_to(to);
  return ok_status();
}

Status check_size(const WireWriter& response) {
  if (response.size() < (std::size_t{1} << 31) - 4096) return ok_status();
  return resource_exhausted("the fetched tensors of ", format_bytes(response.size()),
                            " together exceed the 2 GiB of a message")
      .with_hint("fetch them in several runs");
}

}  // namespace

Result<std::vector<WirePiece>> ClientSession::run_step(const StepRequest& request, CallContext& call) {
  const Busy busy(*this);
  ARGOSY_RETURN_IF_ERROR(new_request(request.request_id, "RunStep"));
  if (!request.partial_run.empty()) return run_partially(request, call);
  tensorflow::RunOptions options;
  ARGOSY_RETURN_IF_ERROR(read_options(request.options, options));
  ARGOSY_ASSIGN_OR_RETURN(const auto step, prepared(request, call));
  std::vector<Tensor> feeds(request.feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    auto tensor = read_tensor(request.feeds[i].tensor, wire_);
    if (!tensor.ok()) return std::move(tensor).status().with_where(str_cat("feed ", request.feeds[i].name));
    feeds[i] = *std::move(tensor);
  }
  tensorflow::RunMetadata metadata;
  ARGOSY_ASSIGN_OR_RETURN(const auto fetched, run(*step, std::move(feeds), options, call, request.errors_in_body,
                                                  wants_metadata(options) ? &metadata : nullptr));
  WireWriter response;
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(add_fetch(step->names().fetches[i], fetched[i], wire_, response));
  }
  if (wants_metadata(options)) response.bytes_field(2, metadata.SerializeAsString());
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

// --- partial runs
// ------------------------------------------------------------------------------------------------------

Result<std::string> ClientSession::set_up_partial_run(const std::vector<std::string>& feeds,
                                                      const std::vector<std::string>& fetches,
                                                      const std::vector<std::string>& targets,
                                                      std::int64_t request_id) {
  const Busy busy(*this);
  ARGOSY_RETURN_IF_ERROR(new_request(request_id, "PartialRunSetup"));
  ARGOSY_ASSIGN_OR_RETURN(auto run, PartialRun::make(*session_, graph_, {feeds, fetches, targets}, options_.device_set,
                                                     options_.config.soft_placement));
  if (replication_ != nullptr) {
    StepValues values;
    ARGOSY_RETURN_IF_ERROR(session_->mutate_graph([&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(values, find_values(graph_, {feeds, fetches, targets}));
      return ok_status();
    }));
    replication_->runs_partially(values);
  }
  MutexLock lock(mutex_);
  std::string handle = str_cat(options_.handle, ":", ++next_partial_);
  partial_runs_.emplace(handle, std::move(run));
  return handle;
}

Result<std::vector<WirePiece>> ClientSession::run_partially(const StepRequest& request, CallContext& call) {
  std::shared_ptr<PartialRun> run;
  {
    MutexLock lock(mutex_);
    const auto found = partial_runs_.find(request.partial_run);
    if (found == partial_runs_.end()) {
      return invalid_argument("Must run PartialRunSetup before performing partial runs: there is no partial run \"",
                              request.partial_run, "\", or it is over");
    }
    run = found->second;
  }
  if (!request.targets.empty()) return invalid_argument("a partial run takes its targets from PartialRunSetup");
  std::vector<std::pair<std::string, Tensor>> feeds;
  for (const StepRequest::Feed& feed : request.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(feed.tensor, wire_));
    feeds.emplace_back(feed.name, std::move(tensor));
  }
  const std::vector<std::string> fetches = strings(request.fetches);
  call.expect_duration(-1);
  std::optional<StepExclusion::Shared> shared;
  if (replication_ != nullptr) shared.emplace(replication_->enter_shared(true));
  StuckCall stuck(options_.stuck, call, request.errors_in_body);
  auto fetched = run->run(feeds, fetches, call.cancellation(), &stuck);
  shared.reset();
  if (replication_ != nullptr) replication_->variables_written();
  if (!fetched.ok() || run->over()) {
    MutexLock lock(mutex_);
    partial_runs_.erase(std::string(request.partial_run));
  }
  ARGOSY_RETURN_IF_ERROR(Status(fetched.status()));
  WireWriter response;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(add_fetch(fetches[i], (*fetched)[i], wire_, response));
  }
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

// --- callables
// ---------------------------------------------------------------------------------------------------------

Result<std::int64_t> ClientSession::make_callable(const tensorflow::CallableOptions& options, std::int64_t request_id) {
  const Busy busy(*this);
  ARGOSY_RETURN_IF_ERROR(new_request(request_id, "MakeCallable"));
  ARGOSY_RETURN_IF_ERROR(check_options(options.run_options()));
  if (options.tensor_connection_size() > 0) {
    return unimplemented("CallableOptions.tensor_connection: feed ", options.tensor_connection(0).to_tensor(),
                         " and fetch ", options.tensor_connection(0).from_tensor(), " instead");
  }
  auto callable = std::make_shared<MadeCallable>();
  callable->options = options.run_options();
  ARGOSY_ASSIGN_OR_RETURN(callable->step, ResolvedStep::make(*session_, graph_,
                                                             {strings(options.feed()), strings(options.fetch()),
                                                              strings(options.target())}));
  const auto& names = callable->step->names().fetches;
  for (const std::string& fetch : options.fetch()) {
    callable->fetches.push_back(static_cast<std::size_t>(std::ranges::find(names, fetch) - names.begin()));
  }
  MutexLock lock(mutex_);
  callables_.emplace(next_callable_, std::move(callable));
  return next_callable_++;
}

Result<std::vector<WirePiece>> ClientSession::run_callable(const CallRequest& request, CallContext& call) {
  const Busy busy(*this);
  ARGOSY_RETURN_IF_ERROR(new_request(request.request_id, "RunCallable"));
  std::shared_ptr<MadeCallable> callable;
  {
    MutexLock lock(mutex_);
    const auto found = callables_.find(request.callable);
    if (found == callables_.end()) {
      return invalid_argument("No such callable handle: ", request.callable).with_id("ARG-RPC-002");
    }
    callable = found->second;
  }
  const std::vector<std::string>& names = callable->step->names().feeds;
  if (request.feeds.size() != names.size()) {
    return invalid_argument("Expected ", names.size(), " feeds, but got ", request.feeds.size());
  }
  std::vector<Tensor> feeds(names.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    auto tensor = read_tensor(request.feeds[i], wire_);
    if (!tensor.ok()) return std::move(tensor).status().with_where(str_cat("feed ", names[i]));
    feeds[i] = *std::move(tensor);
  }
  const bool metadata_wanted = wants_metadata(callable->options);
  tensorflow::RunMetadata metadata;
  ARGOSY_ASSIGN_OR_RETURN(const auto fetched, run(*callable->step, std::move(feeds), callable->options, call,
                                                  /*errors_in_body=*/false, metadata_wanted ? &metadata : nullptr));
  WireWriter response;
  for (const std::size_t i : callable->fetches) {
    ARGOSY_ASSIGN_OR_RETURN(const TensorMessage tensor, TensorMessage::make(fetched[i], wire_));
    response.begin_bytes(1, tensor.size());
    tensor.append_to(response);
  }
  if (metadata_wanted) response.bytes_field(2, metadata.SerializeAsString());
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

Status ClientSession::release_callable(std::int64_t handle) {
  MutexLock lock(mutex_);
  if (callables_.erase(handle) > 0) return ok_status();
  return invalid_argument("No such callable handle: ", handle).with_id("ARG-RPC-002");
}

// --- the rest
// ----------------------------------------------------------------------------------------------------------

void ClientSession::list_devices(tensorflow::ListDevicesResponse& to) const {
  for (const DeviceSpec& spec : options_.device_set->specs()) {
    tensorflow::DeviceAttributes& device = *to.add_local_device();
    device.set_name(spec.name.to_string());
    device.set_device_type(spec.name.type);
    // TensorFlow says 256 MiB of a CPU, whatever it has.
    device.set_memory_limit(spec.is_gpu() ? static_cast<std::int64_t>(spec.memory_limit_bytes) : 256 << 20);
    device.set_incarnation(std::hash<std::string>()(spec.name.to_string()) | 1);
    device.set_physical_device_desc(spec.description);
  }
}

Status ClientSession::close() {
  ARGOSY_RETURN_IF_ERROR(session_->close());
  if (replication_ != nullptr) ARGOSY_RETURN_IF_ERROR(replication_->close());
  MutexLock lock(mutex_);
  steps_.clear();
  callables_.clear();
  partial_runs_.clear();
  return ok_status();
}

void ClientSession::called_by(CallContext& call) {
  MutexLock lock(client_mutex_);
  if (client_ == nullptr || client_->gone_at() != 0) client_ = call.client();
}

bool ClientSession::orphaned(std::chrono::nanoseconds lease) const {
  // gRPC's clients close what was idle for 30 minutes; ours may have used the connection for other sessions meanwhile.
  constexpr std::chrono::nanoseconds kIdle = std::chrono::minutes(25), kDay = std::chrono::hours(24);
  std::int64_t gone_at = 0;
  {
    MutexLock lock(client_mutex_);
    if (client_ != nullptr) gone_at = client_->gone_at();
  }
  if (gone_at == 0 || busy_.load(std::memory_order_relaxed) > 0) return false;
  const std::int64_t last_end = last_end_.load(std::memory_order_relaxed);
  if (gone_at - last_end > kIdle.count()) lease = std::max(lease, kDay);
  return now_nanos() - std::max(gone_at, last_end) > lease.count();
}

std::chrono::nanoseconds ClientSession::idle() const {
  if (busy_.load(std::memory_order_relaxed) > 0) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(now_nanos() - last_end_.load(std::memory_order_relaxed));
}

}  // namespace argosy::tf
