#include "argosy/tf/worker/worker_service.h"

#include <algorithm>
#include <future>

#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/runtime/device_set/device_set_view.h"
#include "argosy/tf/worker/collective/collective_methods.h"
#include "argosy/tf/worker/device_attributes.h"
#include "argosy/tf/worker/partition_graph.h"
#include "argosy/tf/worker/peers/recv_tensor.h"
#include "argosy/tf/worker/peers/rpc_error.h"
#include "argosy/tf/worker/shared_loops.h"
#include "argosy/tf/worker/step_metadata.h"

namespace argosy::tf {

namespace {

constexpr int kProtocol = 2;          // GetStatusResponse.argosy_protocol; 2: frame_keys.h
constexpr int kWaitingReceives = 16;  // calls of RecvTensor and RunGraph that may arrive at once

std::vector<WirePiece> message_reply(const google::protobuf::Message& message) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = message.SerializeAsString();
  return pieces;
}

template <typename Message>
Result<Message> parsed(std::string_view method, const WireReader& request) {
  Message message;
  if (message.ParseFromString(request.joined())) return message;
  return invalid_argument(method, ": the request is damaged").with_id("ARG-PROTO-003");
}

Result<ClusterSpec> cluster_of(const tensorflow::ClusterDef& def) {
  ClusterSpec spec;
  for (const tensorflow::JobDef& job : def.job()) {
    for (const auto& [task, address] : job.tasks()) spec.jobs[job.name()][task] = address;
  }
  // As JSON it is checked as any other.
  return ClusterSpec::parse(spec.to_json());
}

// RegisterGraphRequest.
struct RegisterGraphRequest {
  std::string_view session, graph, options, config;
  bool session_called = false;
  WireScratch scratch;
};

Status scan(WireReader in, RegisterGraphRequest& to) {
  for (WireField f; in.next(f);) {
    if (f.is_bytes() && f.number == 1) {
      to.session = in.text(f, to.scratch);
    } else if (f.is_bytes() && f.number == 2) {
      to.graph = in.text(f, to.scratch);
    } else if (f.is_bytes() && f.number == 4) {
      to.options = in.text(f, to.scratch);
    } else if (f.is_bytes() && f.number == 8) {
      to.config = in.text(f, to.scratch);
    } else {
      if (f.is_varint() && f.number == 6) to.session_called = f.value != 0;
      in.skip(f);
    }
  }
  return in.ok() ? ok_status() : invalid_argument("RegisterGraph: the request is damaged").with_id("ARG-PROTO-003");
}

bool wants_passes(std::string_view graph_options) {
  tensorflow::GraphOptions options;
  if (!options.ParseFromArray(graph_options.data(), static_cast<int>(graph_options.size()))) return true;
  return options.optimizer_options().opt_level() != tensorflow::OptimizerOptions::L0;
}

// A task that does not answer is no reason: a step with it has its own error.
bool may_share_loop(Peers& peers, const TaskName& task, Cancellation& cancellation) {
  constexpr std::chrono::milliseconds kAnswer{3000};
  const auto channel = peers.channel(task);
  if (!channel.ok()) return true;
  const auto answer = (*channel)->call("/tensorflow.WorkerService/GetStatus", {}, kAnswer, &cancellation);
  tensorflow::GetStatusResponse status;
  return !answer.ok() || !status.ParseFromString(answer->reader().joined()) || numbers_frames_as_we(status);
}

// Waits for a value that the step is to give.
Result<Tensor> take(TaskRendezvous& step, const RendezvousKey& key) {
  std::promise<Result<Rendezvous::Received>> given;
  step.receive_local(key, [&](Result<Rendezvous::Received> value) { given.set_value(std::move(value)); });
  ARGOSY_ASSIGN_OR_RETURN(Rendezvous::Received value, given.get_future().get());
  if (value.dead) return invalid_argument("The tensor returned for ", key.edge, " was not valid.");
  return std::move(value.value);
}

}  // namespace

WorkerService::WorkerService(WorkerServiceOptions options)
    : options_(std::move(options)),
      receives_(options_.peers, options_.device_set),
      steps_(std::make_shared<StepRendezvous>(
          options_.peers->own().to_string(),
          [this](std::int64_t step_id, const RendezvousKey& key, Rendezvous::Done done) {
            receives_.receive(step_id, key, std::move(done));
          })),
      collectives_(std::make_shared<TaskCollectives>(options_.peers)) {
  meet_by_key(*options_.device_set);
}

WorkerService::~WorkerService() { stop(); }

void WorkerService::stop() {
  steps_->abort_all(derived_status(unavailable("the server of ", options_.peers->own(), " stops")));
  collectives_->stop();
  receives_.end_all();
  sessions_.remove_all();
  for (const auto& session : shared_.remove_all()) session->graphs().abort_all(derived_status(unavailable("stopping")));
}

void WorkerService::forget(std::int64_t step_id) {
  steps_->forget(step_id);
  receives_.end(step_id);
  collectives_->forget(step_id);
}

void WorkerService::meet_by_key(DeviceSet& devices) {
  for (int d = 0; d < devices.size(); ++d) {
    const Status shared = set_keyed_tasks(devices.resources(d), collectives_);
    ARGOSY_CHECK(shared.ok());  // the name is the only one of its container
  }
}

std::vector<RpcMethod> WorkerService::methods() {
  using Handler = RpcReply (WorkerService::*)(WireReader);
  using CallHandler = RpcReply (WorkerService::*)(WireReader, CallContext&);
  std::vector<RpcMethod> methods;
  const auto path = [](std::string_view method) { return str_cat("/tensorflow.WorkerService/", method); };
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({path(name), [this, handler](WireReader request, CallContext&) {
                         return guarded([&] { return (this->*handler)(request); });
                       }});
  };
  const auto add_call = [&](std::string_view name, CallHandler handler, int waiting) {
    methods.push_back({path(name),
                       [this, handler](WireReader request, CallContext& context) {
                         return guarded([&] { return (this->*handler)(request, context); });
                       },
                       waiting});
  };
  const auto add_reply = [&](std::string_view name, const RpcReply& reply) {
    methods.push_back({path(name), [reply](WireReader, CallContext&) { return reply; }});
  };
  add("GetStatus", &WorkerService::get_status);
  add("CreateWorkerSession", &WorkerService::create_session);
  add("DeleteWorkerSession", &WorkerService::delete_session);
  add_call("RegisterGraph", &WorkerService::register_graph, 2);
  add("DeregisterGraph", &WorkerService::deregister_graph);
  add_call("RunGraph", &WorkerService::run_graph, kWaitingReceives);
  add("CleanupGraph", &WorkerService::cleanup_graph);
  add("CleanupAll", &WorkerService::cleanup_all);
  add_call("RecvTensor", &WorkerService::recv_tensor, kWaitingReceives);
  add_reply("MarkRecvFinished", std::vector<WirePiece>());
  add_reply("Logging", std::vector<WirePiece>());  // no calls were logged
  add_reply("Tracing", unimplemented("Tracing").with_id("ARG-CLUSTER-013"));
  const auto check = [this](const std::string& device, std::uint64_t incarnation) {
    return check_device("RecvBuf", device, incarnation);
  };
  for (RpcMethod& method : collective_methods(collectives_, options_.peers->own().to_string(), check)) {
    methods.push_back(std::move(method));
  }
  return methods;
}

RpcReply WorkerService::get_status(WireReader) {
  tensorflow::GetStatusResponse response;
  for (const DeviceSpec& spec : options_.device_set->specs()) describe_device(spec, *response.add_device_attributes());
  response.set_argosy_protocol(kProtocol);
  return message_reply(response);
}

RpcReply WorkerService::create_session(WireReader in) {
  using Request = tensorflow::CreateWorkerSessionRequest;
  ARGOSY_ASSIGN_OR_RETURN(const Request request, parsed<Request>("CreateWorkerSession", in));
  std::shared_ptr<Peers> peers = options_.peers;
  if (request.server_def().cluster().job_size() > 0) {
    ARGOSY_ASSIGN_OR_RETURN(ClusterSpec cluster, cluster_of(request.server_def().cluster()));
    if (cluster != peers->cluster()) {
      peers = std::make_shared<Peers>(std::move(cluster), peers->own(), peers->credentials());
    }
  }
  std::shared_ptr<DeviceSet> devices = options_.device_set;
  if (request.isolate_session_state()) {
    DeviceSetView view{.own_resources = true};
    for (int d = 0; d < devices->size(); ++d) view.parts.push_back({.device = d});
    ARGOSY_ASSIGN_OR_RETURN(devices, view_device_set(options_.device_set, view));
    meet_by_key(*devices);
  }
  ARGOSY_RETURN_IF_ERROR(sessions_.add(request.session_handle(), {request.master_task(), request.master_incarnation()},
                                       std::make_shared<WorkerSession>(devices, peers, *steps_)));
  return std::vector<WirePiece>();
}

RpcReply WorkerService::delete_session(WireReader in) {
  using Request = tensorflow::DeleteWorkerSessionRequest;
  ARGOSY_ASSIGN_OR_RETURN(const Request request, parsed<Request>("DeleteWorkerSession", in));
  (void)sessions_.remove(request.session_handle());  // it may be gone already
  return std::vector<WirePiece>();
}

Result<std::shared_ptr<WorkerSession>> WorkerService::session_of(std::string_view handle, bool called) {
  const std::string key(handle);
  if (called) return sessions_.find(key, options_.peers->own());
  std::shared_ptr<WorkerSession> session = shared_.find(key);
  if (session == nullptr) return session_not_found(key, options_.peers->own());
  return session;
}

RpcReply WorkerService::register_graph(WireReader in, CallContext& context) {
  context.expect_duration(-1);
  RegisterGraphRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  std::shared_ptr<WorkerSession> session;
  if (request.session_called) {
    ARGOSY_ASSIGN_OR_RETURN(session, session_of(request.session, true));
  }
  if (tensorflow::ConfigProto config;
      config.ParseFromArray(request.config.data(), static_cast<int>(request.config.size())) &&
      !config.experimental().collective_group_leader().empty()) {
    ARGOSY_RETURN_IF_ERROR(collectives_->leader().ask_for(config.experimental().collective_group_leader()));
  }
  const InterruptScope interrupts(&context.cancellation(), /*between_blocks=*/false);
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, read_partition(request.graph));
  Peers& peers = session != nullptr ? *session->peers() : *options_.peers;
  ARGOSY_RETURN_IF_ERROR(check_shared_loops(step, options_.peers->own(), [&](const TaskName& task) {
    return may_share_loop(peers, task, context.cancellation());
  }));
  const auto add = [&](WorkerSession& to) {
    return to.graphs().register_graph(std::move(step), {.prepare = wants_passes(request.options)});
  };
  const auto make = [&] { return std::make_shared<WorkerSession>(options_.device_set, options_.peers, *steps_); };
  tensorflow::RegisterGraphResponse response;
  ARGOSY_ASSIGN_OR_RETURN(
      *response.mutable_graph_handle(),
      session != nullptr ? add(*session) : shared_.add_graph(std::string(request.session), make, add));
  return message_reply(response);
}

RpcReply WorkerService::deregister_graph(WireReader in) {
  using Request = tensorflow::DeregisterGraphRequest;
  ARGOSY_ASSIGN_OR_RETURN(const Request request, parsed<Request>("DeregisterGraph", in));
  ARGOSY_ASSIGN_OR_RETURN(const auto session,
                          session_of(request.session_handle(), request.create_worker_session_called()));
  session->graphs().deregister_graph(request.graph_handle());
  if (!request.create_worker_session_called()) shared_.remove_graph(request.session_handle(), request.graph_handle());
  return std::vector<WirePiece>();
}

RpcReply WorkerService::run_graph(WireReader in, CallContext& context) {
  RunGraphRequest request;
  ARGOSY_RETURN_IF_ERROR(scan(in, request));
  auto reply = run(request, context);
  if (reply.ok() || !request.errors_in_body) return reply;
  return run_graph_error(reply.status());
}

Result<std::vector<WirePiece>> WorkerService::run(const RunGraphRequest& request, CallContext& context) {
  {
    MutexLock lock(mutex_);
    if (!runs_.add(request.request_id)) {
      return aborted("The same RunGraph (Worker) request was received twice. (request_id ", request.request_id, ")")
          .with_id("ARG-RPC-001");
    }
  }
  const std::int64_t id = request.step_id;
  ARGOSY_ASSIGN_OR_RETURN(const auto session, session_of(request.session, request.session_called));
  ARGOSY_RETURN_IF_ERROR(session->graphs().check(std::string(request.graph)));  // before anything is kept of the step
  receives_.begin(id, session->peers());
  collectives_->begin(id);
  const std::shared_ptr<TaskRendezvous> step = steps_->find(id);
  for (const RunGraphRequest::Send& send : request.sends) {
    ARGOSY_ASSIGN_OR_RETURN(const RendezvousKey key, RendezvousKey::parse(send.key));
    ARGOSY_RETURN_IF_ERROR(check_sender(key));
    ARGOSY_ASSIGN_OR_RETURN(Tensor value,
                            read_tensor(send.tensor, task_wire(&options_.device_set->device(0).allocator())));
    ARGOSY_RETURN_IF_ERROR(step->send(key, std::move(value), false));
  }
  std::vector<RendezvousKey> receives;
  for (const std::string_view text : request.receives) {
    ARGOSY_ASSIGN_OR_RETURN(receives.emplace_back(), RendezvousKey::parse(text));
    ARGOSY_RETURN_IF_ERROR(check_sender(receives.back()));
  }
  context.expect_duration(-1);
  Cancellation::Token token = 0;
  const auto end = [&] { session->graphs().abort(id, derived_status(cancelled("RunGraph was cancelled"))); };
  const bool watched = context.cancellation().add(end, &token);
  if (!watched) return context.cancellation().status();
  TaskRun run{.handle = std::string(request.graph), .step_id = id, .feeds = {}};
  tensorflow::ExecutorOpts options;
  StepStats stats;
  const bool traced = options.ParseFromArray(request.options.data(), static_cast<int>(request.options.size())) &&
                      options.record_timeline() && !request.partial;
  stats.keep_ops = stats.keep_outputs = true;
  if (traced) run.stats = &stats;
  Status status;
  if (request.partial) {
    status = partial_.start(
        id, [session, run = std::move(run)] { return session->graphs().run(run).status(); },
        [session, id](const Status& cause) { session->graphs().abort(id, cause); });
  } else {
    status = session->graphs().run(run).status();
  }
  WireWriter response;
  for (std::size_t i = 0; status.ok() && i < receives.size(); ++i) {
    status = [&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(const Tensor value, take(*step, receives[i]));
      return add_received(request.receives[i], value, response);
    }();
  }
  if (request.partial && (request.last_partial || !status.ok())) {
    if (!status.ok()) session->graphs().abort(id, derived_status(status));
    const Status ended = partial_.finish(id);
    if (!ended.ok() && (status.ok() || is_derived(status))) status = ended;
  }
  context.cancellation().remove(token);
  if (!status.ok()) collectives_->abort(id, status);
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  if (traced) {
    tensorflow::RunMetadata metadata;
    add_step_stats(stats, Graph(), metadata);
    response.bytes_field(2, metadata.step_stats().SerializeAsString());
  }
  return response.take();
}

RpcReply WorkerService::cleanup_graph(WireReader in) {
  using Request = tensorflow::CleanupGraphRequest;
  ARGOSY_ASSIGN_OR_RETURN(const Request request, parsed<Request>("CleanupGraph", in));
  // The step is over for its master, whatever waits in it. It ends before it is forgotten: else it would wait anew.
  partial_.end(request.step_id(), derived_status(cancelled("the step was cleaned up by its master")));
  forget(request.step_id());
  return std::vector<WirePiece>();
}

RpcReply WorkerService::cleanup_all(WireReader in) {
  using Request = tensorflow::CleanupAllRequest;
  ARGOSY_ASSIGN_OR_RETURN(const Request request, parsed<Request>("CleanupAll", in));
  std::vector<std::string> containers(request.container().begin(), request.container().end());
  if (containers.empty()) containers.emplace_back("localhost");
  for (const std::string& container : containers) {
    for (int d = 0; d < options_.device_set->size(); ++d) {
      options_.device_set->resources(d).clear(container.empty() ? "localhost" : container);
    }
  }
  return std::vector<WirePiece>();
}

Status WorkerService::check_sender(const RendezvousKey& key) const {
  return check_device("RecvTensor", key.send_device, key.send_incarnation);
}

// A session may see the devices under other numbers: the incarnation tells which one is meant.
Status WorkerService::check_device(std::string_view method, const std::string& device, std::uint64_t asked) const {
  std::uint64_t incarnation = 0;
  for (const DeviceSpec& spec : options_.device_set->specs()) {
    if (spec.incarnation == asked) return ok_status();
    if (spec.name.to_string() == device) incarnation = spec.incarnation;
  }
  if (incarnation == 0) {
    return invalid_argument(options_.peers->own(), " has no device ", device).with_id("ARG-CLUSTER-010");
  }
  return aborted(method, " expects a different device incarnation: ", asked, " vs. ", incarnation,
                 ". Your worker job (\"", options_.peers->own(),
                 "\") was probably restarted. Check your worker job for the reason why it was restarted.")
      .with_id("ARG-CLUSTER-014");
}

RpcReply WorkerService::recv_tensor(WireReader in, CallContext& context) {
  ARGOSY_ASSIGN_OR_RETURN(const RecvTensorRequest request, read_recv_request(in));
  ARGOSY_ASSIGN_OR_RETURN(const RendezvousKey key, RendezvousKey::parse(request.key));
  ARGOSY_RETURN_IF_ERROR(check_sender(key));
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeferredReply> call, keep_until_cancelled(context));
  const std::int64_t number = steps_->receive(request.step_id, key, [call](Result<Rendezvous::Received> value) {
    if (!value.ok()) return call->answer(std::move(value).status());
    call->answer(guarded([&] { return write_recv_response(*value); }));
  });
  if (number == 0) return std::vector<WirePiece>();
  const auto cancel_receive = [weak = std::weak_ptr<StepRendezvous>(steps_), step = request.step_id, key, number] {
    if (const auto steps = weak.lock()) steps->cancel_receive(step, key, number);
  };
  Cancellation::Token token = 0;
  if (!call->cancellation().add(cancel_receive, &token)) cancel_receive();
  return std::vector<WirePiece>();
}

}  // namespace argosy::tf
